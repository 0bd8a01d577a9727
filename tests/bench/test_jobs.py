"""Measurements in processes of their own."""

from __future__ import annotations

import io
import os

import pytest
from rich.console import Console

from bench.lib.jobs import Failure, run_jobs
from hw.lib.errors import WorkloadError


def act(job: str) -> int:
    """The process's number, unless the job is to fail."""
    if job == "refuse":
        raise WorkloadError("job: must be\nanother")
    if job == "die":
        os._exit(1)
    if job == "break":
        raise ZeroDivisionError("a mistake in a benchmark")
    return os.getpid()


def quiet() -> Console:
    return Console(file=io.StringIO(), width=100)


def test_jobs_share_a_process():
    found = run_jobs(act, ["a", "b"], title="t", console=quiet())
    assert found[0] == found[1] != os.getpid()


def test_fresh_jobs_have_one_each():
    found = run_jobs(act, ["a", "b"], title="t", console=quiet(), fresh=True)
    assert len({*found, os.getpid()}) == 3


def test_what_a_user_can_correct_fails_one_job_only():
    console = quiet()
    found = run_jobs(act, ["refuse", "a"], title="t", console=console)
    assert found[0] == Failure("job: must be another")
    assert isinstance(found[1], int)
    assert console.file.getvalue().splitlines() == [
        "t: refuse: job: must be another",
        "t: a: done",
    ]


def test_a_killed_process_is_reported():
    found = run_jobs(act, ["die"], title="t", console=quiet())
    assert found == [Failure("the process was killed: out of memory?")]


def test_a_mistake_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        run_jobs(act, ["break"], title="t", console=quiet())

"""Measurements in processes of their own."""

from __future__ import annotations

import io
import os
import signal
import time
from pathlib import Path

import pytest
from rich.console import Console

from bench.lib.jobs import Failure, run_jobs
from gnarl.hw.lib.errors import WorkloadError


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


def test_a_killed_process_takes_no_other_job_with_it():
    found = run_jobs(act, ["die", "a"], title="t", console=quiet())
    assert isinstance(found[0], Failure)
    assert isinstance(found[1], int)


def test_results_are_handed_over_as_they_come():
    console = quiet()
    kept: list[str] = []

    def keep(job: str, process: int) -> None:
        kept.append(f"{job} after {console.file.getvalue()!r}")

    run_jobs(act, ["a", "refuse", "b"], title="t", console=console, finished=keep)
    assert kept == ["a after ''", "b after 't: a: done\\nt: refuse: job: must be another\\n'"]


def test_no_job_begins_after_the_deadline():
    found = run_jobs(act, ["a", "b"], title="t", console=quiet(), deadline=time.time() - 1)
    assert found == [Failure("the time limit has passed")] * 2
    found = run_jobs(act, ["a"], title="t", console=quiet(), deadline=time.time() + 600)
    assert isinstance(found[0], int)


def note_and_interrupt(path: str) -> None:
    """As Ctrl-C does: both processes are told."""
    with open(path, "a") as file:
        file.write("ran\n")
    os.kill(os.getppid(), signal.SIGINT)
    raise KeyboardInterrupt


def test_an_interrupt_leaves_no_job_to_run(tmp_path: Path):
    notes = tmp_path / "notes"
    with pytest.raises(KeyboardInterrupt):
        run_jobs(note_and_interrupt, [str(notes)] * 5, title="t", console=quiet())
    assert notes.read_text() == "ran\n"


def test_a_mistake_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        run_jobs(act, ["break"], title="t", console=quiet())

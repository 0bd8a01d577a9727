"""Processes that are forked from servers: what they take of the processor, and that they end."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gnarl.sw.program.cache import cached, digest_of
from tests.support.cuda.fake_cuda import fake_gpus
from tests.support.forked import Forked, built_s, run
from tests.support.processor_time import processor_s

SPENDING = "import time\nwhile time.process_time() < 0.2: pass"


def spend(*_: object) -> None:
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass


def test_processor_time_is_counted() -> None:
    began = processor_s()
    assert run(code=SPENDING).returncode == 0
    assert 0.15 < processor_s() - began < 0.6


def test_processor_time_of_each_call_is_counted_once() -> None:
    with fake_gpus() as call:
        began = processor_s()
        for calls in (1, 2):
            call(spend)
            assert 0.2 * calls - 0.05 < processor_s() - began < 0.2 * calls + 0.15
    assert processor_s() - began < 0.7


def build(number: int) -> None:
    cached("test", digest_of(f"of a test, {number}"), spend, keep=())


def test_builds_of_processes_with_the_driver_are_counted(tmp_path: Path) -> None:
    with fake_gpus(GNARL_CACHE=str(tmp_path)) as call:
        began = built_s()
        call(spend)
        assert built_s() == began
        call(build, 1)
        assert 0.15 < built_s() - began < 0.35


def test_a_test_that_fails_leaves_no_process_behind() -> None:
    began = time.monotonic()
    with pytest.raises(KeyError), Forked(code="import time; time.sleep(100)") as process:
        raise KeyError
    assert process.returncode == -9 and time.monotonic() - began < 50
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_a_process_that_does_not_end_is_killed() -> None:
    process = Forked(code="import time; time.sleep(100)")
    with pytest.raises(AssertionError, match=r"^still runs after 0\.3 s"):
        process.communicate(timeout=0.3)
    assert process.returncode == -9


def test_what_processes_with_the_driver_print_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with fake_gpus() as call:
        call(print, "here")
    assert capsys.readouterr().out == "here\n"

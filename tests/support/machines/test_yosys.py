"""``yosys`` against the process that Amaranth starts."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys

import pytest
from amaranth._toolchain.yosys import _BuiltinYosys

from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.lib.verilog import to_verilog
from tests.support.machines.yosys import run_yosys

SCRIPT = """\
read_rtlil <<rtlil
module \\top
  wire width 4 input 1 \\i
  wire width 4 output 2 \\o
  connect \\o \\i
end
rtlil
write_verilog -norename
"""


def in_a_process(script: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", _BuiltinYosys.YOSYS_PACKAGE, "-q", "-"]
    done = subprocess.run(command, input=script, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_the_same_text() -> None:
    assert run_yosys(["-q", "-"], SCRIPT) == in_a_process(SCRIPT)
    assert "assign o = i;" in run_yosys(["-q", "-"], SCRIPT)[1]


def test_the_same_errors() -> None:
    script = SCRIPT.replace("end", "and")
    assert run_yosys(["-q", "-"], script) == in_a_process(script)
    assert run_yosys(["-q", "-"], script)[0] == 1


def test_designs_of_tests_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    assert to_verilog(Queue(4, 2), "queue").count("module queue") == 1


def test_processes_that_are_forked_start_one_of_their_own() -> None:
    expected = to_verilog(Queue(4, 2), "queue")
    context = multiprocessing.get_context("fork")
    texts = context.Queue()
    child = context.Process(target=lambda: texts.put(to_verilog(Queue(4, 2), "queue")), daemon=True)
    child.start()
    assert texts.get(timeout=60) == expected
    child.join()

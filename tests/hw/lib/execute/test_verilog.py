"""The execute unit's Verilog: clean for linter and synthesis."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.execute.execute_unit import ExecuteUnit
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.machines.yowasp import sound, yosys

TOP = "execute_unit"


def verilog() -> str:
    unit = ExecuteUnit(lanes=4, program_words=64, memory_words=4096, loads=4, stages=2)
    return to_verilog(unit, TOP)


def test_lint_finds_nothing():
    assert lint(verilog(), TOP) == []


@pytest.mark.slow
def test_synthesis_finds_no_latch_no_loop_and_no_conflict(tmp_path):
    (tmp_path / "design.v").write_text(verilog())
    yosys(tmp_path, sound(TOP))

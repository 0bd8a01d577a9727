"""The access unit's Verilog: clean for linter and synthesis."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.tmu.access.access_unit import AccessUnit
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.machines.yowasp import sound, yosys

TOP = "access_unit"


def verilog() -> str:
    unit = AccessUnit(
        layers=2,
        lanes=4,
        streams=3,
        stream_words=32,
        requests=4,
        address_bits=12,
        token_bits=6,
    )
    return to_verilog(unit, TOP)


def test_lint_finds_nothing():
    assert lint(verilog(), TOP) == []


@pytest.mark.slow
def test_synthesis_finds_no_latch_no_loop_and_no_conflict(tmp_path):
    (tmp_path / "design.v").write_text(verilog())
    yosys(tmp_path, sound(TOP))

"""Every block by itself, on Verilator."""

from __future__ import annotations

import pytest

from cocotb_tests.lib.run import run_cocotb
from cocotb_tests.sam.side_by_side import SideBySide
from cocotb_tests.sam.specs import GROUPS, environment


@pytest.mark.parametrize("group", GROUPS)
def test_blocks(group):
    component = SideBySide(GROUPS[group]())
    run_cocotb(component, "cocotb_tests.sam.blocks", name="blocks", environment=environment(group))

"""Every block by itself, on Verilator."""

from __future__ import annotations

import pytest

from cocotb_tests.lib.run import run_cocotb
from cocotb_tests.sam.side_by_side import SideBySide
from cocotb_tests.sam.specs import BROKEN, GROUPS, environment, specs_of

SAMPLE = ["index", "fixed32", "blocks", pytest.param("float32", marks=pytest.mark.slow)]

RUNS = 20
"""Of each block: as many as are enough to notice each block that is broken."""


def run(group, module, runs):
    component = SideBySide(specs_of(group))
    run_cocotb(component, module, name="blocks", environment=environment(group, runs))


@pytest.mark.parametrize("group", SAMPLE)
def test_blocks(group):
    run(group, "cocotb_tests.sam.blocks", RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_blocks_for_longer(group):
    run(group, "cocotb_tests.sam.blocks", 400)


def test_broken_blocks():
    run(BROKEN, "cocotb_tests.sam.broken_blocks", RUNS)

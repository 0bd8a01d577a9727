"""Every block by itself: the modules of ``cocotb_tests.dpu.blocks`` on Verilator."""

from __future__ import annotations

import pytest

from cocotb_tests.dpu.blocks.side_by_side import Blocks
from cocotb_tests.dpu.configs import CONFIGS, environment
from cocotb_tests.lib.run import run_cocotb

BLOCKS = (
    "crossbar",
    "data_memory",
    "decoder",
    "fault",
    "instruction_fetch",
    "issue",
    "output_interconnect",
    "pe_tree",
    "register_bank",
    "run_control",
)


@pytest.mark.parametrize(
    "name",
    [name if name == "small" else pytest.param(name, marks=pytest.mark.slow) for name in CONFIGS],
)
def test_blocks(name):
    config = CONFIGS[name]
    modules = ",".join(f"cocotb_tests.dpu.blocks.{block}" for block in BLOCKS)
    run_cocotb(Blocks(config), modules, name="blocks", environment=environment(config))

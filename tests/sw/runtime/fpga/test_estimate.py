"""Estimates of what designs need, against what synthesis finds."""

from __future__ import annotations

import pytest

from gnarl.hw.fpga.baud import BAUD
from gnarl.hw.fpga.boards import find_board
from gnarl.hw.fpga.clock import plan_clock
from gnarl.hw.fpga.family import Resources
from gnarl.hw.lib.verilog import to_rtlil
from gnarl.sw.runtime.fpga.build import board_top, board_verilog
from gnarl.sw.runtime.fpga.estimate import estimate
from gnarl.sw.runtime.fpga.synthesis import synthesise
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.target.verilog import module_name
from tests.support.machines.yowasp import needs_yosys
from tests.support.targets import memory_target

pytest.importorskip("amaranth_boards")

BOARD = "ulx3s_85f"


def estimated(hardware: NamedConfiguration) -> Resources:
    board, name = find_board(BOARD), module_name(hardware)
    return estimate(to_rtlil(board_top(hardware, board, plan_clock(board), BAUD), name), name)


def synthesised(hardware: NamedConfiguration) -> Resources:
    board, name = find_board(BOARD), module_name(hardware)
    text = board_verilog(hardware, board, plan_clock(board), BAUD)
    return synthesise(text, name, board.family, board.device).used


def compare(found: Resources, needed: Resources) -> None:
    assert found.to_dict() == pytest.approx(needed.to_dict(), rel=0.2)


@needs_yosys
def test_a_link_with_a_memory_is_within_a_fifth_of_its_synthesis() -> None:
    hardware = memory_target.configuration()
    compare(estimated(hardware), synthesised(hardware))


# What synthesis found, with Yosys 0.70.
@needs_yosys
@pytest.mark.parametrize(
    ("config", "needed"),
    [
        ("dpu_ice40", Resources(3_681, 1_309, 4, 12)),
        pytest.param("dpu_ecp5", Resources(11_955, 4_788, 16, 65), marks=pytest.mark.slow),
        pytest.param("sam_fabric_ecp5", Resources(29_911, 12_071, 13, 33), marks=pytest.mark.slow),
        pytest.param("tmu_l2", Resources(83_644, 34_732, 90, 162), marks=pytest.mark.slow),
        pytest.param("sram_b2", Resources(91_572, 28_680, 51, 85), marks=pytest.mark.slow),
    ],
)
def test_machines_are_within_a_fifth_of_their_synthesis(config: str, needed: Resources) -> None:
    compare(estimated(load_configuration(config)), needed)

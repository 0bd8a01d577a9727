"""A machine at a board's pins: reset after power-up, levels of pins; nothing for lint to find."""

from __future__ import annotations

import pytest
from amaranth.sim import Simulator

from gnarl.hw.fpga.board_top import BoardTop
from gnarl.hw.fpga.boards import find_board
from gnarl.hw.fpga.clock import plan_clock
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import lint
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from tests.support.parameters import slow_but
from tests.support.targets.memory_target import configuration

pytest.importorskip("amaranth_boards")


def top(board_name: str, hardware: NamedConfiguration) -> BoardTop:
    """On the board's own clock, without PLL."""
    board = find_board(board_name)
    machine = hardware.target.executor.generator.build(hardware.config)
    return BoardTop(board, plan_clock(board, board.oscillator_hz), machine, 1_000_000)


@pytest.mark.parametrize(("board", "idle"), [("ulx3s_85f", 0b0001), ("icebreaker", 0b10)])
def test_the_machine_is_idle_once_it_has_left_reset(board: str, idle: int) -> None:
    component = top(board, configuration())

    async def clock(context) -> None:
        context.set(component.rx, 1)
        for cycle in range(8):
            context.set(component.clock, 0)
            await context.delay(1e-7)
            context.set(component.clock, 1)
            await context.delay(1e-7)
            assert context.get(component.tx) == 1
            if cycle >= 3:
                assert context.get(component.leds) == idle

    simulator = Simulator(component)
    simulator.add_testbench(clock)
    simulator.run()


@pytest.mark.parametrize(
    "board", slow_but(["icebreaker"], ["ulx3s_85f", "icebreaker", "tang_primer_20k"])
)
def test_lint_finds_nothing(board: str) -> None:
    assert lint(to_verilog(top(board, load_configuration("dpu_d1_b8")), "top"), "top") == []

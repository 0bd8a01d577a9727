"""How fast a machine can be on a board, and what it takes there: for comparisons, no bitstream."""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.hw.fpga.baud import BAUD
from gnarl.hw.fpga.boards import Board
from gnarl.hw.fpga.clock import plan_clock
from gnarl.hw.fpga.family import Resources
from gnarl.sw.runtime.fpga.build import board_verilog, check_memories
from gnarl.sw.runtime.fpga.capacity import check_capacity
from gnarl.sw.runtime.fpga.place import PLACEMENT, flow, place
from gnarl.sw.runtime.fpga.synthesis import SYNTHESIS, YOSYS, synthesise, tool_version
from gnarl.sw.runtime.report.stages import Stages, quiet
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.runtime.target.verilog import module_name

_MORE = 2
"""A goal that is met is followed by one of so many times what was met."""


@dataclass(frozen=True)
class Fastest:
    """A machine on a board, placed and routed.

    clock_hz
        the fastest clock that it works with.
    goal_hz
        what the placer was asked for.
    """

    used: Resources
    clock_hz: int
    goal_hz: int


def require_flow(board: Board) -> None:
    """Raises ``FpgaError`` for a board that no open tools place designs for, and where tools are
    missing."""
    tools = flow(board, plan_clock(board), 0)
    for package in (YOSYS, tools.package):
        tool_version(package)


def fastest(hardware: NamedConfiguration, board: Board, stages: Stages = quiet) -> Fastest:
    """Synthesises, places and routes a machine for a goal that it does not meet.

    That is the family's, or where it is met twice what was met, as often as it takes, up to what
    the board's PLL makes. Raises as ``gnarl.sw.runtime.fpga.build.build`` does, but for files.
    """
    name, facts = module_name(hardware), board.family.value
    goal = facts.goal_hz
    assert goal is not None and facts.pll is not None, "require_flow has refused others"
    most = facts.pll.output[1]
    while True:
        clock = plan_clock(board, goal)
        with stages("generate Verilog"):
            text = board_verilog(hardware, board, clock, BAUD)
        with stages(SYNTHESIS):
            synthesis = synthesise(text, name, board.family, board.device, stages)
        check_capacity(hardware, board, synthesis.used)
        check_memories(name, synthesis)
        with stages(PLACEMENT):
            placement = place(synthesis, board, clock, 0, stages)
        if placement.clock_hz < clock.hz or goal == most:
            used = synthesis.used.with_luts(placement.luts)
            return Fastest(used, placement.clock_hz, clock.hz)
        goal = min(_MORE * placement.clock_hz, most)

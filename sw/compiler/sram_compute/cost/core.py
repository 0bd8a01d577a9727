"""What programs of the core cost."""

from __future__ import annotations

from collections.abc import Sequence

from hw.lib.execute_isa import Instruction
from hw.sram_compute.config import SramConfig
from sw.compiler.sram_compute.cost.core_lines import empty_lines
from sw.compiler.sram_compute.cost.core_table import core_table
from sw.compiler.sram_compute.cost.core_walk import walk

_FETCH = 3
_COMMANDS = 6
"""Cycles of a fetch of commands besides those of memory, and of ``CORE`` and ``END`` besides their
two."""


def core_cycles(instructions: Sequence[Instruction], config: SramConfig, limit: int) -> int:
    """About how many cycles the core takes from its start until all is in memory; some number above
    ``limit`` where they are more. O(instructions that it does in ``limit`` cycles)."""
    lines = empty_lines(config)
    return walk(core_table(instructions), lines, config.core_lanes, config.core_loads, limit)


def part_cycles(instructions: Sequence[Instruction], config: SramConfig, limit: int) -> int:
    """The same with the commands around it, of a part of a program."""
    around = 2 * (config.latency + _FETCH) + _COMMANDS
    return around + core_cycles(instructions, config, max(0, limit - around))

"""What programs of the core cost: their time is exact, but for what data decide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hw.lib.execute_isa import Instruction
from hw.sram_compute.config import SramConfig
from sw.compiler.sram_compute.cost.core_scalars import begin, follow, scalar_table
from sw.execute_timing.core import CoreTime
from sw.execute_timing.fields import fields_of
from sw.execute_timing.lines import empty_lines
from sw.execute_timing.trace import COLUMNS, LONGEST

_FETCH = 3
_COMMANDS = 6
"""Cycles of a fetch of commands besides those of memory, and of ``CORE`` and ``END`` besides their
two."""


def core_cycles(instructions: Sequence[Instruction], config: SramConfig, limit: int) -> int:
    """About how many cycles the core takes from its start until all is in memory; some number above
    ``limit`` where they are more. O(instructions that it does in ``limit`` cycles)."""
    fields, lanes = fields_of(instructions), config.core_lanes
    lines = empty_lines(
        cache_bytes=config.core_cache_bytes,
        loads=config.core_loads,
        latency=config.latency,
        line_cycles=config.line_cycles,
        free=0,
        empties=-config.core_cache_bytes,
    )
    time = CoreTime(fields, lanes, config.core_loads, lines, 0)
    table, scalars = scalar_table(fields), begin(lanes)
    part = np.empty((LONGEST, COLUMNS), np.int64)
    while time.end is None and time.issued <= limit:
        time.done(part[: follow(table, scalars, lanes, part)])
    return time.issued if time.end is None else time.end


def part_cycles(instructions: Sequence[Instruction], config: SramConfig, limit: int) -> int:
    """The same with the commands around it, of a part of a program."""
    around = 2 * (config.latency + _FETCH) + _COMMANDS
    return around + core_cycles(instructions, config, max(0, limit - around))

"""What programs of the core cost: their time is exact, but for what elements of vectors decide, and
addresses that come from memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.execute.fields import fields_of
from gnarl.sw.execute.scalars.core_memory import CoreMemory, nothing_known
from gnarl.sw.execute.scalars.core_scalars import (
    begin,
    follow,
    is_decided_by_data,
    scalar_table,
)
from gnarl.sw.execute.timing.core import CoreTime
from gnarl.sw.execute.timing.lines import empty_lines
from gnarl.sw.execute.trace import COLUMNS, LONGEST

_FETCH = 2
_COMMANDS = 10
"""Cycles from a line of commands to the request for the next one; and of ``CORE`` and ``END``,
besides those in which main memory fetches two lines, the second behind the first."""


def core_cycles(
    instructions: Sequence[Instruction], config: SramConfig, limit: int, memory: CoreMemory
) -> int:
    """Estimates the cycles that the core takes from its start, as soon as a line of commands has
    come, until all is in memory; some number above ``limit`` where they are more. O(instructions
    that it does in ``limit`` cycles)."""
    fields, lanes = fields_of(instructions), config.core_lanes
    lines = empty_lines(
        cache_bytes=config.core_cache_bytes,
        loads=config.core_loads,
        latency=config.latency,
        line_cycles=config.line_cycles,
        free=config.line_cycles - config.latency - 1,
        empties=-config.core_cache_bytes,
    )
    time = CoreTime(fields, lanes, config.core_loads, lines, 0)
    table, scalars = scalar_table(fields), begin(lanes, memory)
    part = np.empty((LONGEST, COLUMNS), np.int64)
    while time.end is None and time.issued <= limit:
        time.done(part[: follow(table, scalars, lanes, part)], limit)
    memory.decides |= is_decided_by_data(scalars)
    return time.issued if time.end is None else time.end


def part_cycles(
    instructions: Sequence[Instruction],
    config: SramConfig,
    limit: int,
    memory: CoreMemory | None = None,
) -> int:
    """The same with the commands around it, of a part of a program that finds ``memory``, whose
    words it changes; by default nothing is known of it."""
    around = max(config.latency + _FETCH, config.line_cycles) + config.latency + _COMMANDS
    memory = memory or nothing_known()
    return around + core_cycles(instructions, config, max(0, limit - around), memory)

"""What programs of stream engines cost."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import STREAMS, Opcode
from gnarl.hw.sram_compute.program import Command
from gnarl.hw.sram_compute.streams.word_network import word_cycles
from gnarl.sw.compiler.sram_compute.cost.near_copies import (
    copied_until,
    delay_copies,
    no_copies,
    queue_copy,
    slowed_until,
)
from gnarl.sw.compiler.sram_compute.cost.near_loops import Network, loop_cycles
from gnarl.sw.compiler.sram_compute.lower.columns import COLUMNS, column, table
from gnarl.sw.compiler.sram_compute.lower.command_times import clock, spend
from gnarl.sw.program.jit import compiled

_COPY, _STREAM, _OPERATION, _NEAR = (
    each.value for each in (Opcode.COPY, Opcode.STREAM, Opcode.OPERATION, Opcode.NEAR)
)
_SLOTS = 1 << 5
_SLOT, _NUMBER = column(Opcode.OPERATION, "slot"), column(Opcode.STREAM, "stream")


def near_cycles(commands: Iterable[Command], config: SramConfig, limit: int) -> int:
    """Estimates the cycles that a program of ``COPY``, ``STREAM``, ``OPERATION`` and ``NEAR``
    takes, up to its ``END``; some number above ``limit`` where they are more.

    Indices that are loaded are taken to be random. O(steps of the loops in ``limit`` cycles).
    """
    network = Network(config.banks, word_cycles(config.network_bits))
    return _walk(table(commands), clock(config), no_copies(), network, limit)


@compiled
def _walk(
    table: np.ndarray,
    clocks: np.ndarray,
    copies: np.ndarray,
    network: Network,
    limit: int,
) -> int:
    clock = clocks[0]
    latency = clock.latency
    streams = np.zeros((STREAMS, COLUMNS), np.int64)
    operations = np.zeros((_SLOTS, COLUMNS), np.int64)
    for row in table:
        opcode, asked = row[0], clock.asked
        if copies[-1].end > clock.cycle:
            clock.latency = latency + clock.line_cycles * 3 // 2
        spend(clock, opcode, 0)
        clock.latency = latency
        delay_copies(copies, clock.cycle, (clock.asked - asked) * clock.line_cycles)
        if opcode == _STREAM:
            streams[row[_NUMBER]] = row
        elif opcode == _OPERATION:
            operations[row[_SLOT]] = row
        elif opcode == _COPY:
            queue_copy(copies, clock, row, network.banks)
        elif opcode == _NEAR:
            cycles = loop_cycles(row, operations, streams, network, max(0, limit - clock.cycle))
            until = copied_until(copies, row, operations, streams, network.banks, cycles)
            begin = clock.cycle
            slowed = slowed_until(copies, row, operations, network.banks, begin, cycles)
            clock.cycle = max(slowed, until)
        if clock.cycle > limit:
            break
    return max(clock.cycle, copies[-1].end)

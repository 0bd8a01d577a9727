"""What programs of stream engines cost."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hw.sram_compute.config import SramConfig
from hw.sram_compute.isa import STREAMS, Opcode
from hw.sram_compute.program import Command
from hw.sram_compute.word_copy import LOAD_CYCLES, STORE_CYCLES
from hw.sram_compute.word_network import word_cycles
from sw.compiler.sram_compute.cost.near_loops import Network, loop_cycles
from sw.compiler.sram_compute.lower.columns import COLUMNS, column, table
from sw.compiler.sram_compute.lower.command_times import (
    clock,
    loading_cycles,
    spend,
    storing_cycles,
)
from sw.program.jit import compiled

_COPY, _STREAM, _OPERATION, _NEAR = (
    each.value for each in (Opcode.COPY, Opcode.STREAM, Opcode.OPERATION, Opcode.NEAR)
)
_SLOTS = 1 << 5
_SLOT, _NUMBER = column(Opcode.OPERATION, "slot"), column(Opcode.STREAM, "stream")
_IS_STORE, _LINES = column(Opcode.COPY, "is_store"), column(Opcode.COPY, "lines")


def near_cycles(commands: Iterable[Command], config: SramConfig, limit: int) -> int:
    """About how many cycles a program of ``COPY``, ``STREAM``, ``OPERATION`` and ``NEAR`` takes,
    up to its ``END``; some number above ``limit`` where they are more.

    Indices that are loaded are taken to be random. O(steps of the loops in ``limit`` cycles).
    """
    network = Network(config.banks, word_cycles(config.network_bits))
    return _walk(table(commands), clock(config), network, limit)


@compiled
def _walk(table: np.ndarray, clocks: np.ndarray, network: Network, limit: int) -> int:
    clock = clocks[0]
    streams = np.zeros((STREAMS, COLUMNS), np.int64)
    operations = np.zeros((_SLOTS, COLUMNS), np.int64)
    for row in table:
        opcode = row[0]
        cycles = 0
        if opcode == _STREAM:
            streams[row[_NUMBER]] = row
        elif opcode == _OPERATION:
            operations[row[_SLOT]] = row
        elif opcode == _NEAR:
            cycles = loop_cycles(row, operations, streams, network, max(0, limit - clock.cycle))
        elif opcode == _COPY and row[_IS_STORE]:
            cycles = storing_cycles(clock, row[_LINES], STORE_CYCLES)
        elif opcode == _COPY:
            cycles = loading_cycles(clock, row[_LINES], LOAD_CYCLES)
        spend(clock, opcode, cycles)
        if clock.cycle > limit:
            break
    return clock.cycle

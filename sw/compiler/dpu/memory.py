"""Lays out values in the data memory: rows of inputs, of spilled values and of outputs."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.dpu.binarise import BinaryDag
from gnarl.sw.compiler.dpu.schedule import Schedule
from gnarl.sw.compiler.dpu.state import MEMORY_LOAD, MEMORY_RELOAD, MEMORY_STORE, NONE

OPEN_ROWS = 64


@dataclass(frozen=True)
class MemoryLayout:
    """Rows of every memory instruction, and the words that the host fills and reads.

    row
        int32 [cycles], the row of the memory instruction issued in each cycle, or 0.
    word_row, word_bank, word_value
        int32 [words], where the host puts which leaf value (``BinaryDag`` numbering).
    output_row, output_bank
        int32 [outputs]; row -1 for an output that is a leaf, with its value as the bank.
    rows
        rows of the data memory that are used.
    """

    row: np.ndarray
    word_row: np.ndarray
    word_bank: np.ndarray
    word_value: np.ndarray
    output_row: np.ndarray
    output_bank: np.ndarray
    rows: int


def memory_layout(schedule: Schedule, binary: BinaryDag, config: DpuConfig) -> MemoryLayout:
    """Loads that take different banks share a row; rows of spilled values are used again.

    O(loads · ``OPEN_ROWS``). Raises ``CapacityError`` if the data memory is too small.
    """
    cycles, length = schedule.cycles, schedule.length
    kind, moved_row = cycles.memory, cycles.row
    row = np.zeros(length, np.int32)
    loads = np.flatnonzero(kind == MEMORY_LOAD)
    loaded = cycles.load[loads]
    input_rows = _share_rows(loaded != NONE, row, loads)
    issue, bank = np.nonzero(loaded != NONE)
    location = loaded[issue, bank]

    last_use = np.full(schedule.memory_rows, -1, np.int64)
    for cycle in np.flatnonzero(kind == MEMORY_RELOAD):
        last_use[moved_row[cycle]] = cycle
    outputs = binary.outputs
    computed = outputs >= binary.leaves
    stored_row = schedule.values.row[outputs[computed]]
    last_use[stored_row] = length
    physical = np.full(schedule.memory_rows, -1, np.int32)
    rows = input_rows
    vacant: list[int] = []
    leaving: list[tuple[int, int]] = []
    for cycle in np.flatnonzero(kind == MEMORY_STORE):
        virtual = moved_row[cycle]
        while leaving and leaving[0][0] < cycle:
            vacant.append(heapq.heappop(leaving)[1])
        if vacant:
            physical[virtual] = vacant.pop()
        else:
            physical[virtual] = rows
            rows += 1
        heapq.heappush(leaving, (int(max(last_use[virtual], cycle)), int(physical[virtual])))
    moved = (kind == MEMORY_STORE) | (kind == MEMORY_RELOAD)
    row[moved] = physical[moved_row[moved]]
    if rows > config.data_rows:
        raise CapacityError(f"data_rows = {config.data_rows}: this DAG needs at least {rows} rows")
    output_row = np.full(len(outputs), -1, np.int32)
    output_row[computed] = physical[stored_row]
    return MemoryLayout(
        row,
        row[loads[issue]],
        bank.astype(np.int32),
        schedule.locations.value[location],
        output_row,
        np.where(computed, schedule.values.lane[outputs], outputs).astype(np.int32),
        rows,
    )


def _share_rows(masks: np.ndarray, row: np.ndarray, loads: np.ndarray) -> int:
    """Gives each load the first open row whose banks it does not meet; the number of rows."""
    packed = [int.from_bytes(mask.tobytes(), "little") for mask in np.packbits(masks, axis=1)]
    open_rows: list[tuple[int, int]] = []
    rows = 0
    for load, mask in zip(loads, packed, strict=True):
        for k, (number, taken) in enumerate(open_rows):
            if not taken & mask:
                row[load] = number
                open_rows[k] = (number, taken | mask)
                break
        else:
            row[load] = rows
            open_rows.append((rows, mask))
            rows += 1
            if len(open_rows) > OPEN_ROWS:
                open_rows.pop(0)
    return rows

"""What the scheduler knows of the machine, cycle by cycle, as arrays that compiled loops can use."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from hw.dpu.config import DpuConfig
from hw.dpu.isa import FIRST_WRITER
from hw.dpu.topology import pe_number, writers
from sw.compiler.dpu.binarise import BinaryDag
from sw.compiler.dpu.order import users

NONE = -1
MEMORY_IDLE, MEMORY_LOAD, MEMORY_STORE, MEMORY_RELOAD = range(4)


class Machine(NamedTuple):
    """The hardware's figures, all from the configuration.

    latency
        int64 [depth + 1], cycles from issue to readable, by layer; 0 is a copy.
    pe
        int32 [banks, depth + 1], the PE of layer ``l`` above tree input ``i``.
    writer
        uint8 [pes, banks], the value of ``write_source`` with which a bank takes a PE's result; 0
        where it cannot.
    """

    depth: int
    banks: int
    registers: int
    load_latency: int
    overlap: bool
    latency: np.ndarray
    pe: np.ndarray
    writer: np.ndarray


def machine(config: DpuConfig) -> Machine:
    pe = np.zeros((config.banks, config.depth + 1), np.int32)
    for lane in range(config.banks):
        for layer in range(1, config.depth + 1):
            tree, place = divmod(lane, config.tree_inputs)
            pe[lane, layer] = pe_number(config, tree, layer, place >> layer)
    writer = np.zeros((config.pes, config.banks), np.uint8)
    for bank in range(config.banks):
        for k, number in enumerate(writers(config, bank)):
            writer[number, bank] = FIRST_WRITER + k
    latency = np.array([config.layer_latency(k) for k in range(config.depth + 1)], np.int64)
    return Machine(
        config.depth,
        config.banks,
        config.registers,
        config.load_latency,
        config.overlap,
        latency,
        pe,
        writer,
    )


class Graph(NamedTuple):
    """The binary DAG, and of every value the operations that use it."""

    leaves: int
    op: np.ndarray
    left: np.ndarray
    right: np.ndarray
    group: np.ndarray
    user_offsets: np.ndarray
    users: np.ndarray
    outputs: np.ndarray


def graph(binary: BinaryDag) -> Graph:
    offsets, user = users(binary)
    stored = np.unique(binary.outputs[binary.outputs >= binary.leaves]).astype(np.int32)
    return Graph(
        binary.leaves,
        binary.op,
        binary.left,
        binary.right,
        binary.group,
        offsets,
        user,
        stored,
    )


class Cycles(NamedTuple):
    """What happens in each cycle: rows are cycles, columns are banks, tree inputs or PEs.

    read, load, store, write
        int32 [cycles, banks], locations (one stay of a value in a register): read in the cycle;
        fetched or put away by the memory instruction issued in it; written to the bank in it.
    release
        bool, the read is the location's last.
    source, used
        uint8 and bool [cycles, banks], the bank that the crossbar hands to a tree input.
    operation
        uint8 [cycles, pes].
    write_source
        uint8 [cycles, banks], by issue.
    held, passing
        int16 [cycles, banks], registers taken: by results, and by words loaded just in time.
    memory, row
        uint8 and int32 [cycles], the memory operation; the row of stores and reloads.
    busy
        bool [cycles], whether trees or copies run.
    """

    read: np.ndarray
    load: np.ndarray
    store: np.ndarray
    write: np.ndarray
    release: np.ndarray
    source: np.ndarray
    used: np.ndarray
    operation: np.ndarray
    write_source: np.ndarray
    held: np.ndarray
    passing: np.ndarray
    memory: np.ndarray
    row: np.ndarray
    busy: np.ndarray


@njit(cache=True, nogil=True)
def new_cycles(count, banks, pes):  # type: ignore[no-untyped-def]
    """Empty ``Cycles``."""
    return Cycles(
        np.full((count, banks), NONE, np.int32),
        np.full((count, banks), NONE, np.int32),
        np.full((count, banks), NONE, np.int32),
        np.full((count, banks), NONE, np.int32),
        np.zeros((count, banks), np.bool_),
        np.zeros((count, banks), np.uint8),
        np.zeros((count, banks), np.bool_),
        np.zeros((count, pes), np.uint8),
        np.zeros((count, banks), np.uint8),
        np.zeros((count, banks), np.int16),
        np.zeros((count, banks), np.int16),
        np.zeros(count, np.uint8),
        np.full(count, NONE, np.int32),
        np.zeros(count, np.bool_),
    )


@njit(cache=True, nogil=True)
def grown_cycles(old, count):  # type: ignore[no-untyped-def]
    """The same cycles with room for ``count``."""
    new = new_cycles(count, old.read.shape[1], old.operation.shape[1])
    size = len(old.memory)
    new.read[:size] = old.read
    new.load[:size] = old.load
    new.store[:size] = old.store
    new.write[:size] = old.write
    new.release[:size] = old.release
    new.source[:size] = old.source
    new.used[:size] = old.used
    new.operation[:size] = old.operation
    new.write_source[:size] = old.write_source
    new.held[:size] = old.held
    new.passing[:size] = old.passing
    new.memory[:size] = old.memory
    new.row[:size] = old.row
    new.busy[:size] = old.busy
    return new


class Values(NamedTuple):
    """Where every value is.

    location
        int32, its register stay, or NONE.
    ready
        int64, the cycle from which it can be read there.
    uses
        int32, unscheduled operations that need it, plus one while it is an output to be stored.
    pending
        bool, an output that is not stored yet.
    row, lane
        int32, its place in the data memory (spilled or stored), or NONE.
    done
        bool [operations], scheduled.
    missing
        int8 [operations], operands that are not computed yet.
    resident
        int32 [banks, registers], the values held by each bank, in no order, NONE-filled.
    held
        int64 [banks], how many.
    unstored
        int64 [banks], how many of them are outputs to be stored.
    """

    location: np.ndarray
    ready: np.ndarray
    uses: np.ndarray
    pending: np.ndarray
    row: np.ndarray
    lane: np.ndarray
    done: np.ndarray
    missing: np.ndarray
    resident: np.ndarray
    held: np.ndarray
    unstored: np.ndarray


class Locations(NamedTuple):
    """Register stays: the value (int32), the bank (uint8)."""

    value: np.ndarray
    bank: np.ndarray


@njit(cache=True, nogil=True)
def grown_locations(old, count):  # type: ignore[no-untyped-def]
    value = np.empty(count, np.int32)
    bank = np.empty(count, np.uint8)
    value[: len(old.value)] = old.value
    bank[: len(old.bank)] = old.bank
    return Locations(value, bank)


@njit(cache=True, nogil=True)
def new_values(graph, banks, registers):  # type: ignore[no-untyped-def]
    """Nothing computed yet."""
    count = len(graph.op)
    total = graph.leaves + count
    uses = np.empty(total, np.int32)
    for value in range(total):
        uses[value] = graph.user_offsets[value + 1] - graph.user_offsets[value]
    pending = np.zeros(total, np.bool_)
    for value in graph.outputs:
        pending[value] = True
        uses[value] += 1
    missing = np.zeros(count, np.int8)
    for k in range(count):
        if graph.left[k] >= graph.leaves:
            missing[k] += 1
        if graph.right[k] >= graph.leaves and graph.right[k] != graph.left[k]:
            missing[k] += 1
    return Values(
        np.full(total, NONE, np.int32),
        np.zeros(total, np.int64),
        uses,
        pending,
        np.full(total, NONE, np.int32),
        np.full(total, NONE, np.int32),
        np.zeros(count, np.bool_),
        missing,
        np.full((banks, registers), NONE, np.int32),
        np.zeros(banks, np.int64),
        np.zeros(banks, np.int64),
    )


@njit(cache=True, nogil=True)
def hold(values, bank, value):  # type: ignore[no-untyped-def]
    """Enters a value among those that a bank holds."""
    slot = 0
    while values.resident[bank, slot] != NONE:
        slot += 1
    values.resident[bank, slot] = value
    values.held[bank] += 1
    if values.pending[value]:
        values.unstored[bank] += 1


@njit(cache=True, nogil=True)
def let_go(values, bank, value):  # type: ignore[no-untyped-def]
    """Removes a value from those that a bank holds."""
    slot = 0
    while values.resident[bank, slot] != value:
        slot += 1
    values.resident[bank, slot] = NONE
    values.held[bank] -= 1
    if values.pending[value]:
        values.unstored[bank] -= 1
    values.location[value] = NONE

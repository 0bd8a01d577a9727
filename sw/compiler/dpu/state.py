"""What the scheduler knows of the machine, cycle by cycle, as arrays for compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hw.dpu.config import DpuConfig
from hw.dpu.isa import FIRST_WRITER
from hw.dpu.topology import pe_number, writers
from sw.compiler.dpu.binarise import BinaryDag
from sw.compiler.dpu.jit import compiled
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


def new_cycles(count: int, banks: int, pes: int) -> Cycles:
    """Empty ``Cycles``."""
    return Cycles(
        read=np.full((count, banks), NONE, np.int32),
        load=np.full((count, banks), NONE, np.int32),
        store=np.full((count, banks), NONE, np.int32),
        write=np.full((count, banks), NONE, np.int32),
        release=np.zeros((count, banks), np.bool_),
        source=np.zeros((count, banks), np.uint8),
        used=np.zeros((count, banks), np.bool_),
        operation=np.zeros((count, pes), np.uint8),
        write_source=np.zeros((count, banks), np.uint8),
        held=np.zeros((count, banks), np.int16),
        passing=np.zeros((count, banks), np.int16),
        memory=np.zeros(count, np.uint8),
        row=np.full(count, NONE, np.int32),
        busy=np.zeros(count, np.bool_),
    )


def grown_cycles(old: Cycles, count: int) -> Cycles:
    """The same cycles with room for ``count``."""
    new = new_cycles(count, old.read.shape[1], old.operation.shape[1])
    for there, here in zip(new, old, strict=True):
        there[: len(here)] = here
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


def new_locations(count: int) -> Locations:
    """Room for ``count`` locations."""
    return Locations(np.empty(count, np.int32), np.empty(count, np.uint8))


def grown_locations(old: Locations, count: int) -> Locations:
    """The same locations with room for ``count``."""
    new = new_locations(count)
    for there, here in zip(new, old, strict=True):
        there[: len(here)] = here
    return new


def new_values(graph: Graph, banks: int, registers: int) -> Values:
    """Nothing computed yet."""
    count = len(graph.op)
    total = graph.leaves + count
    pending = np.zeros(total, np.bool_)
    pending[graph.outputs] = True
    computed = np.stack([graph.left, graph.right]) >= graph.leaves
    missing = computed.sum(axis=0) - (computed[0] & (graph.left == graph.right))
    return Values(
        location=np.full(total, NONE, np.int32),
        ready=np.zeros(total, np.int64),
        uses=(np.diff(graph.user_offsets) + pending).astype(np.int32),
        pending=pending,
        row=np.full(total, NONE, np.int32),
        lane=np.full(total, NONE, np.int32),
        done=np.zeros(count, np.bool_),
        missing=missing.astype(np.int8),
        resident=np.full((banks, registers), NONE, np.int32),
        held=np.zeros(banks, np.int64),
        unstored=np.zeros(banks, np.int64),
    )


@compiled
def hold(values, bank, value):  # type: ignore[no-untyped-def]
    """Enters a value among those that a bank holds."""
    slot = 0
    while values.resident[bank, slot] != NONE:
        slot += 1
    values.resident[bank, slot] = value
    values.held[bank] += 1
    if values.pending[value]:
        values.unstored[bank] += 1


@compiled
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

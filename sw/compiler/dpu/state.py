"""What the scheduler knows of the machine, cycle by cycle, as arrays for compiled loops."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import FIRST_WRITER
from gnarl.hw.dpu.topology import pe_number, writers
from gnarl.sw.compiler.dpu.binarise import BinaryDag
from gnarl.sw.compiler.dpu.order import users
from gnarl.sw.program.jit import in_place, stage

NONE = -1
MEMORY_IDLE, MEMORY_LOAD, MEMORY_STORE, MEMORY_RELOAD = range(4)

SPARE_REGISTERS = 2
"""Registers of a bank that results leave free, for words loaded just in time."""

WANTED = 8
"""Operations for which spilled operands are loaded again at a time."""

HORIZON = 64
"""Cycles ahead that an instruction may have effects in: more than any latency."""

FIRST_ROWS = 1024
"""Cycles that there is room for at first."""

ROOM = 16
"""Locations that a cycle may add, by bank."""

VISITED = 32
"""Operations of one group that are searched for values read together with another."""

CLASHES = 16
"""Pairs of operands in one bank that a cycle remembers, to copy one of each."""

Arrays = TypeVar("Arrays", "Cycles", "Locations")


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
    sizes = config.depth, config.banks, config.registers
    return Machine(*sizes, config.load_latency, config.overlap, latency, pe, writer)


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
    operations = binary.op, binary.left, binary.right, binary.group
    return Graph(binary.leaves, *operations, offsets, user, stored)


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
    loaded_at, loaded_to
        int64 and int32, of an input: the last cycle that reads it, and the location there.
    arrivals, next_arrival
        int32 [HORIZON] and int32, lists of values by the cycle, modulo HORIZON, from which they
        can be read.
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
    loaded_at: np.ndarray
    loaded_to: np.ndarray
    arrivals: np.ndarray
    next_arrival: np.ndarray


class Locations(NamedTuple):
    """Register stays: the value (int32), the bank (uint8)."""

    value: np.ndarray
    bank: np.ndarray


def new_locations(count: int) -> Locations:
    """Room for ``count`` locations."""
    return Locations(np.empty(count, np.int32), np.empty(count, np.uint8))


def begin_again(progress: Progress) -> None:
    """Drops what a lack of progress has led to: a schedule is reviewed each time that it is twice
    as long, or has twice as many locations."""
    progress.review *= 2
    progress.idle, progress.focus = 0, NONE
    progress.crowded, progress.short_of_loads = 0, 0


def drop_cycles(state: State, count: int) -> None:
    """Drops the first ``count`` rows, a multiple of ``HORIZON``; the others move there."""
    cycles, values, progress = state.cycles, state.values, state.progress
    empty = new_cycles(1, cycles.read.shape[1], cycles.operation.shape[1])
    for column, nothing in zip(cycles, empty, strict=True):
        column[:-count] = column[count:]
        column[-count:] = nothing
    values.ready[:] -= count
    values.loaded_at[:] = NONE  # all of them in earlier cycles
    progress.cycle -= count
    progress.packed += count


def copied(old: Arrays, new: Arrays) -> Arrays:
    """``new``, which has more room, with the rows of ``old``."""
    for source, target in zip(old, new, strict=True):
        target[: len(source)] = source
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
        loaded_at=np.full(total, NONE, np.int64),
        loaded_to=np.zeros(total, np.int32),
        arrivals=np.full(HORIZON, NONE, np.int32),
        next_arrival=np.full(total, NONE, np.int32),
    )


class Scratch(NamedTuple):
    """Working memory for one cycle, and for one cone of ``places`` = 2**(depth + 1) places in it.

    kind, node
        uint8 and int32 [places]: EMPTY, OPERATION or LEAF; the operation or, at a leaf, the value.
    path, stack
        int32 [depth + 1] and [VISITED + 1], operations: the roots that ``climb`` went through,
        lowest first; those that ``neighbours`` has yet to visit.
    claim
        int32 [banks], the location that the cone reads from each bank, or NONE.
    load
        int64 [places, 3], the loads added for the cone: cycle of issue, bank, and whether that
        cycle had none before.
    result, weight
        int64 [places], [places, banks], the places of the cone whose results go to a bank, and how
        many values in each bank are read together with them.
    bank, best_bank
        int64 [places], banks for the results: at the tree inputs that are tried, and at the best.
    aside, partial, wanted
        int32, operations: that found no room in this cycle; that idle tree inputs may run with a
        part of their group; that wait for spilled operands.
    clashes
        int32 [CLASHES + 1, 2], pairs of values in one bank that a cone reads together; behind them,
        those of the cone that was tried last.
    pressure
        float64 [banks], the key beyond which a bank spills; infinity: it has registers.
    """

    kind: np.ndarray
    node: np.ndarray
    path: np.ndarray
    stack: np.ndarray
    claim: np.ndarray
    load: np.ndarray
    result: np.ndarray
    weight: np.ndarray
    bank: np.ndarray
    best_bank: np.ndarray
    aside: np.ndarray
    partial: np.ndarray
    wanted: np.ndarray
    clashes: np.ndarray
    pressure: np.ndarray


def new_scratch(depth: int, banks: int, attempts: int = 0) -> Scratch:
    """Working memory; ``attempts``: of ``Policy``."""
    places = 1 << (depth + 1)
    return Scratch(
        kind=np.zeros(places, np.uint8),
        node=np.zeros(places, np.int32),
        path=np.zeros(depth + 1, np.int32),
        stack=np.empty(VISITED + 1, np.int32),
        claim=np.full(banks, NONE, np.int32),
        load=np.zeros((places, 3), np.int64),
        result=np.zeros(places, np.int64),
        weight=np.zeros((places, banks), np.int64),
        bank=np.zeros(places, np.int64),
        best_bank=np.zeros(places, np.int64),
        aside=np.empty(4 * attempts + 4 * banks, np.int32),
        partial=np.empty(2 * attempts, np.int32),
        wanted=np.empty(WANTED, np.int32),
        clashes=np.empty((CLASHES + 1, 2), np.int32),
        pressure=np.empty(banks, np.float64),
    )


class Progress(np.record):  # type: ignore[misc]  # final only in NumPy's stubs
    """The cycle that is filled, and counts; a record of int64, for compiled functions to change.

    cycle, packed
        its row of ``Cycles``, and how many cycles are packed before the first row.
    review
        cycles after which the choice of ``focus`` begins again, see ``begin_again``.
    waiting, aside, partial, clashes, wanted
        entries in the heap of ``State.ready`` and in the lists of ``Scratch``.
    idle
        cycles since an operation was scheduled or an output stored.
    focus
        the operation that everything else waits for, or NONE.
    crowded
        whether banks or registers keep it from running.
    short_of_loads
        whether a cone of the last cycle found no load.
    """

    cycle: int
    packed: int
    review: int
    locations: int
    finished: int
    unstored: int
    rows: int
    spills: int
    copies: int
    waiting: int
    aside: int
    partial: int
    clashes: int
    wanted: int
    idle: int
    focus: int
    crowded: int
    short_of_loads: int


class State(NamedTuple):
    """What the scheduler knows and has decided.

    key, ready
        float64 and int32 [operations]: the urgency, the most urgent the smallest; a heap by urgency
        of the operations whose operands are computed.
    """

    machine: Machine
    graph: Graph
    cycles: Cycles
    values: Values
    locations: Locations
    scratch: Scratch
    progress: Progress
    key: np.ndarray
    ready: np.ndarray


def new_state(binary: BinaryDag, config: DpuConfig, key: np.ndarray, attempts: int) -> State:
    """Nothing scheduled, with room for some cycles."""
    g = graph(binary)
    fields = [(name, np.int64) for name in Progress.__annotations__]
    progress = np.zeros(1, np.dtype((Progress, fields)))[0]
    progress.unstored = len(g.outputs)
    progress.review = FIRST_ROWS
    progress.focus = NONE
    return State(
        machine(config),
        g,
        new_cycles(FIRST_ROWS, config.banks, config.pes),
        new_values(g, config.banks, config.registers),
        new_locations(4096),
        new_scratch(config.depth, config.banks, attempts),
        progress,
        key,
        np.empty(binary.operations + 1, np.int32),
    )


@stage
def write(state: State, value: int, bank: int, cycle: int) -> int:
    """Writes a value to a bank in ``cycle``; the location that begins then."""
    location = state.progress.locations
    state.progress.locations += 1
    state.locations.value[location] = value
    state.locations.bank[location] = bank
    state.cycles.write[cycle, bank] = location
    if value >= state.graph.leaves:
        state.values.location[value] = location
        state.values.ready[value] = cycle
    return location


@stage
def hold(state: State, value: int, bank: int) -> None:
    """Enters a value among those that a bank holds, from the cycle on."""
    values = state.values
    state.cycles.held[state.progress.cycle, bank] += 1
    slot = 0
    while values.resident[bank, slot] != NONE:
        slot += 1
    values.resident[bank, slot] = value
    values.held[bank] += 1
    if values.pending[value]:
        values.unstored[bank] += 1


@in_place
def let_go(values: Values, value: int, bank: int) -> None:
    """Removes a value from those that a bank holds."""
    slot = 0
    while values.resident[bank, slot] != value:
        slot += 1
    values.resident[bank, slot] = NONE
    values.held[bank] -= 1
    if values.pending[value]:
        values.unstored[bank] -= 1
    values.location[value] = NONE

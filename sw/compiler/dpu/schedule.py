"""Steps 1b to 4 in one walk over the cycles: blocks, PEs, banks, order, copies and spills.

Source: DPU-v2, section IV. Where the paper decomposes, maps, reorders and spills one after the
other, this scheduler goes through the cycles once and fills each with the most urgent cones whose
operands are there, given the ports, banks and registers that are really free. So a block is what
one cycle executes, and bank conflicts mostly become a matter of which cones share a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hw.dpu.config import DpuConfig
from hw.lib.errors import CapacityError
from sw.compiler.dpu import heap
from sw.compiler.dpu.binarise import BinaryDag
from sw.compiler.dpu.cone import AWAY, climb, expand
from sw.compiler.dpu.jit import compiled, inner
from sw.compiler.dpu.order import depth_first, height
from sw.compiler.dpu.place import (
    NO_LANES,
    NO_LOAD,
    NO_REGISTER,
    PLACED,
    SAME_BANK,
    move,
    new_scratch,
    place,
)
from sw.compiler.dpu.spill import press, reload, store
from sw.compiler.dpu.state import (
    MEMORY_IDLE,
    MEMORY_STORE,
    NONE,
    Cycles,
    Locations,
    Values,
    graph,
    grown_cycles,
    grown_locations,
    machine,
    new_cycles,
    new_locations,
    new_values,
)

WANTED = 8
"""Operations for which spilled operands are loaded again at a time."""

FOCUS_CYCLES = 8
"""Cycles without any progress, beyond the longest latency, after which everything goes to the most
urgent operation."""

JITTER = 0.01
"""Largest relative change of an urgency by ``Policy.jitter``."""

STUCK_CYCLES = 2000
"""Cycles without any progress after which a schedule is given up."""


_DONE, _NO_ROOM, _STUCK, _OVER_LIMIT = range(4)
_CYCLE, _LOCATED, _WAITING, _UNSTORED, _ROWS, _SPILLS, _COPIES = range(7)


@dataclass(frozen=True)
class Policy:
    """How the scheduler chooses; ``compile`` tries several.

    window
        operations of the depth-first walk that compete with one another by urgency; those of the
        next window come after. 0: all compete.
    load_window
        cycles that a word may wait in a register for the instruction that it is loaded for.
    attempts
        cones that may fail to find room in a cycle before the cycle is closed.
    eager
        how many cycles less urgent than the most urgent an operation may be for idle tree inputs to
        run a part of its group.
    hurry
        see ``binarise``.
    jitter
        seed of a random change of every urgency by up to ``JITTER``; 0 for none.
    """

    window: int = 0
    load_window: int = 16
    attempts: int = 24
    eager: float = np.inf
    hurry: float = 1.0
    jitter: int = 0


@dataclass(frozen=True)
class Schedule:
    """Instructions as ``Cycles`` (cut to ``length`` issue cycles), and where values end up."""

    length: int
    cycles: Cycles
    values: Values
    locations: Locations
    memory_rows: int
    spills: int
    copies: int


class TooLongError(Exception):
    """The schedule exceeds the limit that it was given."""


def schedule(
    binary: BinaryDag, config: DpuConfig, policy: Policy, limit: np.ndarray | None = None
) -> Schedule:
    """Binary DAG → what happens in each cycle. O(operations · banks).

    limit
        int64 [1], cycles beyond which ``TooLongError`` ends the attempt; others may lower it
        meanwhile.

    Raises ``CapacityError`` if no progress is possible.
    """
    g = graph(binary)
    key = -height(binary, config)
    if policy.jitter:
        random = np.random.default_rng(policy.jitter)
        key *= 1.0 + JITTER * random.random(len(key))
    if policy.window:
        key += (depth_first(binary) // policy.window) * (1.0 + float(-key.min(initial=0.0)))
    hardware = machine(config)
    values = new_values(g, config.banks, config.registers)
    scratch = new_scratch(config.depth, config.banks, len(values.location))
    cycles = new_cycles(1024, config.banks, config.pes)
    locations = new_locations(4096)
    ready = np.empty(binary.operations + 1, np.int32)
    tally = np.zeros(7, np.int64)
    for operation in np.flatnonzero(values.missing == 0):
        tally[_WAITING] = heap.push(ready, tally[_WAITING], operation, key)
    tally[_UNSTORED] = len(g.outputs)
    if limit is None:
        limit = np.array([np.iinfo(np.int64).max])
    while True:
        status = _walk(
            hardware,
            g,
            key,
            cycles,
            values,
            locations,
            scratch,
            ready,
            tally,
            policy.load_window,
            policy.attempts,
            float(policy.eager),
            limit,
        )
        if status != _NO_ROOM:
            break
        cycles = grown_cycles(cycles, 2 * len(cycles.memory))
        locations = grown_locations(locations, 2 * len(locations.value) + 32 * config.banks)
    if status == _OVER_LIMIT:
        raise TooLongError
    if status == _STUCK:
        raise CapacityError(
            f"registers = {config.registers}: too few to schedule this DAG; "
            "a configuration with more registers or banks is needed"
        )
    return Schedule(
        int(tally[_CYCLE]),
        cycles,
        values,
        locations,
        int(tally[_ROWS]),
        int(tally[_SPILLS]),
        int(tally[_COPIES]),
    )


@compiled
def _walk(  # type: ignore[no-untyped-def]
    machine, graph, key, cycles, values, locations, scratch, ready, tally,
    load_window, attempts, eager, limit,
):  # fmt: skip
    """Fills cycles until all is done, or as far as there is room in the arrays; the status.

    ``ready`` is the heap of operations whose operands are computed; ``tally`` holds the counts that
    a later call goes on from.
    """
    banks = machine.banks
    cycle, located, waiting, unstored, rows, spills, copies = tally
    remaining = len(graph.op) - scratch.finished[0]
    aside = np.empty(4 * attempts + 4 * banks, np.int32)
    partial = np.empty(2 * attempts, np.int32)
    clashes = np.empty((16, 2), np.int32)
    wanted = np.empty(WANTED, np.int32)
    pressure = np.empty(banks, np.float64)
    idle = 0
    short_of_loads = False
    focus, crowded = NONE, False
    status = _DONE
    while remaining > 0 or unstored > 0:
        if cycle + 64 >= len(cycles.memory) or located + 16 * banks >= len(locations.value):
            status = _NO_ROOM
            break
        cycles.held[cycle] = values.held
        waiting = _collect(graph, values, scratch, key, cycle, ready, waiting)

        set_aside, parts, clashing, wants = 0, 0, 0, 0
        again = False
        most_urgent = key[ready[0]] if waiting > 0 else 0.0
        pressure[:] = np.inf
        before = scratch.finished[0] - unstored
        failures = 0
        focused = idle > machine.latency[machine.depth] + FOCUS_CYCLES
        if not focused:
            focus, crowded = NONE, False
        depth = 1 if focused else machine.depth
        runs = machine.overlap or not (
            cycle % 2 if focused else _memory_turn(machine, values, short_of_loads, remaining)
        )
        short_of_loads = False
        lanes = banks if runs else 0
        # Whole groups come from the heap first; then, from ``partial``, parts of groups.
        part = -1
        while lanes > 1:
            if part >= 0:
                if part == parts:
                    break
                operation = partial[part]
                part += 1
                if values.done[operation]:
                    continue
            elif waiting == 0 or failures >= (1 if focused else attempts):
                part = 0
                continue
            elif focus == NONE or values.done[focus]:
                operation, waiting = heap.pop(ready, waiting, key)
                if values.done[operation]:
                    continue
                again = False
            else:
                operation, again = focus, True
            if focused:
                focus, crowded = operation, False
            top, levels, whole = climb(graph, values, scratch, cycle, operation, depth, key)
            why = NO_LANES
            if levels == AWAY and part < 0 and wants < WANTED:
                wanted[wants] = operation
                wants += 1
            if levels > 0:
                urgent = key[operation] <= most_urgent + eager
                if not whole and idle == 0 and part < 0 and urgent and parts < len(partial):
                    partial[parts] = operation
                    parts += 1
                    continue
                if whole or idle > 0 or part >= 0:
                    why, located, used = _place_or_less(
                        machine, graph, cycles, values, locations, located, scratch, cycle,
                        top, load_window,
                    )  # fmt: skip
            if why == PLACED:
                lanes -= used
                continue
            if why == NO_REGISTER:
                press(machine, values, pressure, key[operation])
            crowded |= why == NO_REGISTER or why == SAME_BANK
            short_of_loads |= why == NO_LOAD
            if why == SAME_BANK and clashing < len(clashes):
                clashes[clashing] = scratch.clash
                clashing += 1
            if part < 0:
                failures += 1
                if not again:
                    aside[set_aside] = operation
                    set_aside += 1
        for k in range(parts):
            if not values.done[partial[k]]:
                waiting = heap.push(ready, waiting, partial[k], key)
        for k in range(set_aside):
            if not values.done[aside[k]]:
                waiting = heap.push(ready, waiting, aside[k], key)

        moved = False
        for k in range(2 * clashing):
            if moved and k % 2:
                continue
            moved, located = move(
                machine, graph, cycles, values, locations, located, scratch, cycle,
                clashes[k // 2, k % 2],
            )  # fmt: skip
            if moved:
                copies += 1
                crowded = False

        if cycles.memory[cycle] == MEMORY_IDLE and (machine.overlap or not cycles.busy[cycle]):
            if focus != NONE:
                wanted[0], wants = focus, 1
            reloaded, located = reload(
                machine, graph, cycles, values, locations, located, cycle, key, wanted, wants,
                pressure,
            )  # fmt: skip
            if not reloaded:
                if focus != NONE and (crowded or pressure.min() < np.inf):
                    pressure[:] = -np.inf
                stored, spilt = store(
                    machine, graph, cycles, values, locations, rows, cycle, key, pressure,
                    remaining, focus,
                )  # fmt: skip
                if stored + spilt > 0:
                    cycles.memory[cycle] = MEMORY_STORE
                    cycles.row[cycle] = rows
                    rows += 1
                    unstored -= stored
                    spills += spilt
        remaining = len(graph.op) - scratch.finished[0]
        idle = 0 if scratch.finished[0] - unstored > before else idle + 1
        cycle += 1
        if idle > STUCK_CYCLES:
            status = _STUCK
            break
        if cycle > limit[0]:
            status = _OVER_LIMIT
            break
    tally[:] = np.array([cycle, located, waiting, unstored, rows, spills, copies])
    return status


@inner
def _collect(graph, values, scratch, key, cycle, ready, waiting):  # type: ignore[no-untyped-def]
    """Enters the operations whose last operand becomes readable in ``cycle``; the heap's size."""
    slot = cycle % len(scratch.arrivals)
    value = scratch.arrivals[slot]
    scratch.arrivals[slot] = NONE
    while value != NONE:
        for k in range(graph.user_offsets[value], graph.user_offsets[value + 1]):
            user = graph.users[k]
            values.missing[user] -= 1
            if values.missing[user] == 0 and not values.done[user]:
                waiting = heap.push(ready, waiting, user, key)
        value = scratch.next_arrival[value]
    return waiting


@inner
def _place_or_less(  # type: ignore[no-untyped-def]
    machine, graph, cycles, values, locations, located, scratch, cycle, top, window
):
    """Places the climbed cone or, if two operands stand in one bank, a smaller one on its path.

    ``(PLACED or why not, locations, tree inputs taken)``.
    """
    why = SAME_BANK
    for step in range(top, -1, -1):
        levels = expand(
            graph, values, cycle, scratch.path[step], machine.depth, scratch.kind, scratch.node
        )
        why, located = place(
            machine, graph, cycles, values, locations, located, scratch, cycle, levels, window
        )
        if why == PLACED:
            return why, located, 1 << levels
        if why != SAME_BANK:
            break
    return why, located, 0


@inner
def _memory_turn(machine, values, short, remaining):  # type: ignore[no-untyped-def]
    """Without overlap: whether this cycle is left to the memory."""
    if remaining == 0 or short:
        return True
    unstored = 0
    for bank in range(machine.banks):
        unstored += values.unstored[bank] > 0
    return 2 * unstored > machine.banks

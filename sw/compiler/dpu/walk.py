"""The walk over the cycles: what each of them runs, copies, loads and stores.

A cycle first runs whole groups, then parts of groups in the tree inputs that are left, then copies
operands that met in one bank, and last uses the memory. If nothing moves for a few cycles, all
but the most urgent operation waits: see ``Progress.focus``.
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.compiler.dpu import heap
from gnarl.sw.compiler.dpu.cone import AWAY, climb, expand
from gnarl.sw.compiler.dpu.place import NO_LOAD, NO_REGISTER, PLACED, SAME_BANK, move, place
from gnarl.sw.compiler.dpu.spill import has_pressure, note_pressure, reload, store, unstored_banks
from gnarl.sw.compiler.dpu.state import CLASHES, HORIZON, MEMORY_IDLE, NONE, ROOM, WANTED, State
from gnarl.sw.program.jit import in_place, inner, stage

FOCUS_CYCLES = 8
"""Cycles without any progress, beyond the longest latency, after which everything goes to the most
urgent operation."""

STUCK_CYCLES = 2000
"""Cycles without any progress after which a schedule is given up."""

DONE, NO_ROOM, STUCK, OVER_LIMIT = range(4)


@in_place
def walk(state: State, load_window: int, attempts: int, eager: float, limit: np.ndarray) -> int:
    """Fills cycles until all is done, or as far as there is room in the arrays; the status.

    Goes on from the cycle of ``progress``. ``limit`` int64 [1]: cycles after which it stops; the
    other arguments are fields of ``Policy``.
    """
    machine, graph, cycles, values, locations, _, progress, _, _ = state
    remaining = len(graph.op) - progress.finished
    while remaining > 0 or progress.unstored > 0:
        cycle = progress.cycle
        room = len(locations.value) - progress.locations
        rows = min(len(cycles.memory), progress.review - progress.packed)
        if cycle + HORIZON >= rows or room <= ROOM * machine.banks:
            return NO_ROOM
        _begin(state)
        before = progress.finished - progress.unstored
        focused = progress.idle > machine.latency[machine.depth] + FOCUS_CYCLES
        if not focused:
            progress.focus, progress.crowded = NONE, False
        runs = _trees_run(state, remaining, focused)
        progress.short_of_loads = False
        if runs:
            lanes = _run_groups(state, load_window, attempts, eager, focused)
            _run_parts(state, load_window, lanes, focused)
        _put_back(state)
        _copy_clashing(state)
        if cycles.memory[cycle] == MEMORY_IDLE and (machine.overlap or not cycles.busy[cycle]):
            _use_memory(state, remaining)
        remaining = len(graph.op) - progress.finished
        progress.idle = 0 if progress.finished - progress.unstored > before else progress.idle + 1
        progress.cycle += 1
        if progress.idle > STUCK_CYCLES:
            return STUCK
        if progress.packed + progress.cycle > limit[0]:
            return OVER_LIMIT
    return DONE


@stage
def _begin(state: State) -> None:
    """Empties the lists; enters the operations whose last operand can be read from now on."""
    _, graph, cycles, values, _, scratch, progress, key, ready = state
    cycle = progress.cycle
    for bank in range(len(values.held)):
        cycles.held[cycle, bank] = values.held[bank]
    progress.aside, progress.partial, progress.clashes, progress.wanted = 0, 0, 0, 0
    scratch.pressure[:] = np.inf
    slot = cycle % len(values.arrivals)
    value = values.arrivals[slot]
    values.arrivals[slot] = NONE
    while value != NONE:
        for k in range(graph.user_offsets[value], graph.user_offsets[value + 1]):
            user = graph.users[k]
            values.missing[user] -= 1
            if values.missing[user] == 0 and not values.done[user]:
                progress.waiting = heap.push(ready, progress.waiting, user, key)
        value = values.next_arrival[value]


@stage
def _trees_run(state: State, remaining: int, focused: bool) -> bool:
    """Whether trees run in this cycle. Without overlap, some cycles are left to the memory."""
    machine, values, progress = state.machine, state.values, state.progress
    if machine.overlap:
        return True
    if focused:
        return progress.cycle % 2 == 0
    if remaining == 0 or progress.short_of_loads:
        return False
    return 2 * unstored_banks(values) <= machine.banks


@stage
def _run_groups(state: State, load_window: int, attempts: int, eager: float, focused: bool) -> int:
    """Runs the most urgent operations with what is above them in whole groups; free tree inputs.

    When nothing has moved for long, any part of a group will do.
    """
    machine, graph, _, values, _, scratch, progress, key, ready = state
    lanes = machine.banks
    depth = 1 if focused else machine.depth
    failures, most = 0, 1 if focused else attempts
    most_urgent = key[ready[0]] if progress.waiting > 0 else 0.0
    while lanes > 1 and progress.waiting > 0 and failures < most:
        again = progress.focus != NONE and not values.done[progress.focus]
        if again:
            operation = progress.focus
        else:
            operation, progress.waiting = heap.pop(ready, progress.waiting, key)
            if values.done[operation]:
                continue
        if focused:
            progress.focus, progress.crowded = operation, False
        top, whole = climb(graph, values, scratch, progress.cycle, operation, depth, key)
        if top == AWAY and progress.wanted < WANTED:
            scratch.wanted[progress.wanted] = operation
            progress.wanted += 1
        runs = top >= 0
        if runs and not whole and progress.idle == 0:
            urgent = key[operation] <= most_urgent + eager
            if urgent and progress.partial < len(scratch.partial):
                scratch.partial[progress.partial] = operation
                progress.partial += 1
                continue
            runs = False
        used = _place_or_less(state, load_window, operation, top) if runs else 0
        lanes -= used
        if used == 0:
            failures += 1
            if not again:
                scratch.aside[progress.aside] = operation
                progress.aside += 1
    return lanes


@stage
def _run_parts(state: State, load_window: int, lanes: int, focused: bool) -> None:
    """Runs parts of groups in the ``lanes`` tree inputs that are free."""
    machine, graph, _, values, _, scratch, progress, key, _ = state
    depth = 1 if focused else machine.depth
    for k in range(progress.partial):
        if lanes <= 1:
            break
        operation = scratch.partial[k]
        if values.done[operation]:
            continue
        top, _ = climb(graph, values, scratch, progress.cycle, operation, depth, key)
        if top >= 0:
            lanes -= _place_or_less(state, load_window, operation, top)


@inner
def _place_or_less(state: State, load_window: int, operation: int, top: int) -> int:
    """Places the cone climbed to from ``operation`` or, if operands clash, a smaller one below.

    The tree inputs that it takes; 0 if it has no room, with the reason noted.
    """
    machine, graph, _, values, _, scratch, progress, key, _ = state
    why = SAME_BANK
    for step in range(top, -1, -1):
        root = scratch.path[step]
        levels = expand(graph, values, scratch, progress.cycle, root, machine.depth)
        why = place(state, levels, load_window)
        if why == PLACED:
            return 1 << levels
        if why != SAME_BANK:
            break
    if why == NO_REGISTER:
        note_pressure(state, key[operation])
    if why == NO_REGISTER or why == SAME_BANK:
        progress.crowded = True
    if why == NO_LOAD:
        progress.short_of_loads = True
    if why == SAME_BANK:
        progress.clashes = min(progress.clashes + 1, CLASHES)
    return 0


@stage
def _put_back(state: State) -> None:
    """Lets operations that did not run compete in the next cycle."""
    _, _, _, values, _, scratch, progress, key, ready = state
    for k in range(progress.partial):
        if not values.done[scratch.partial[k]]:
            progress.waiting = heap.push(ready, progress.waiting, scratch.partial[k], key)
    for k in range(progress.aside):
        if not values.done[scratch.aside[k]]:
            progress.waiting = heap.push(ready, progress.waiting, scratch.aside[k], key)


@stage
def _copy_clashing(state: State) -> None:
    """Copies one of each two operands that met in a bank."""
    for k in range(state.progress.clashes):
        for side in range(2):
            if move(state, state.scratch.clashes[k, side]):
                state.progress.crowded = False
                break


@stage
def _use_memory(state: State, remaining: int) -> None:
    """Loads spilled values that are needed now, else stores outputs or spills."""
    scratch, progress = state.scratch, state.progress
    if progress.focus != NONE:
        scratch.wanted[0], progress.wanted = progress.focus, 1
    if reload(state):
        return
    if progress.focus != NONE and (progress.crowded or has_pressure(scratch.pressure)):
        scratch.pressure[:] = -np.inf
    store(state, remaining)

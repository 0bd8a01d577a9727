"""Steps 1b to 4 in one walk over the cycles: blocks, PEs, banks, order, copies and spills.

Source: DPU-v2, section IV. Where the paper decomposes, maps, reorders and spills one after the
other, this scheduler goes through the cycles once and fills each with the most urgent cones whose
operands are ready, given the ports, banks and registers that are really free. So a block is what
one cycle executes, and bank conflicts mostly become a matter of which cones share a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.dpu import heap
from gnarl.sw.compiler.dpu.binarise import BinaryDag
from gnarl.sw.compiler.dpu.order import depth_first, height
from gnarl.sw.compiler.dpu.packed_cycles import PackedCycles
from gnarl.sw.compiler.dpu.state import (
    HORIZON,
    ROOM,
    Locations,
    State,
    Values,
    begin_again,
    copied,
    drop_cycles,
    new_cycles,
    new_locations,
    new_state,
)
from gnarl.sw.compiler.dpu.walk import NO_ROOM, OVER_LIMIT, STUCK, walk

JITTER = 0.01
"""Largest relative change of an urgency by ``Policy.jitter``."""


MOST_ROWS = 4096
"""Cycles that are held at a time, which ``load_window`` and ``HORIZON`` are few of."""


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
    split_threshold
        see ``binarise``.
    jitter
        seed of a random change of every urgency by up to ``JITTER``; 0 for none.
    """

    window: int = 0
    load_window: int = 16
    attempts: int = 24
    eager: float = np.inf
    split_threshold: float = 1.0
    jitter: int = 0


@dataclass(frozen=True)
class Schedule:
    """Instructions of ``length`` issue cycles, and where values end up."""

    length: int
    cycles: PackedCycles
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
    if limit is None:
        limit = np.array([np.iinfo(np.int64).max])
    key = _urgency(binary, config, policy)
    state = new_state(binary, config, key, policy.attempts)
    progress = state.progress
    for operation in np.flatnonzero(state.values.missing == 0).tolist():
        progress.waiting = heap.push(state.ready, progress.waiting, operation, key)
    chosen = policy.load_window, policy.attempts, float(policy.eager)
    packed = PackedCycles()
    while (status := walk(state, *chosen, limit)) == NO_ROOM:
        state = _with_room(state, policy, packed)
    if status == OVER_LIMIT:
        raise TooLongError
    if status == STUCK:
        raise CapacityError(
            f"registers = {config.registers}: too few to schedule this DAG; "
            "a configuration with more registers or banks is needed"
        )
    counts = (int(count) for count in (progress.rows, progress.spills, progress.copies))
    packed.append(state.cycles, int(progress.cycle))
    return Schedule(packed.length, packed, state.values, state.locations, *counts)


def _with_room(state: State, policy: Policy, packed: PackedCycles) -> State:
    """A state with room for more locations and cycles; those that stay as they are get packed."""
    machine, progress = state.machine, state.progress
    used, rows = int(progress.cycle), len(state.cycles.memory)
    room = len(state.locations.value) - progress.locations
    is_due = progress.packed + used + HORIZON >= progress.review
    if is_due or room <= ROOM * machine.banks:
        begin_again(progress)
        locations = new_locations(2 * len(state.locations.value) + 2 * ROOM * machine.banks)
        state = state._replace(locations=copied(state.locations, locations))
    if used + HORIZON >= rows:
        if rows < MOST_ROWS:
            cycles = new_cycles(2 * rows, machine.banks, len(state.cycles.operation[0]))
            return state._replace(cycles=copied(state.cycles, cycles))
        loading = policy.load_window + machine.load_latency + 1
        done = (used - loading) // HORIZON * HORIZON
        packed.append(state.cycles, done)
        drop_cycles(state, done)
    return state


def _urgency(binary: BinaryDag, config: DpuConfig, policy: Policy) -> np.ndarray:
    """float64 [operations], the most urgent the smallest: window by window, by longest path."""
    key = -height(binary, config)
    if policy.jitter:
        random = np.random.default_rng(policy.jitter)
        key *= 1.0 + JITTER * random.random(len(key))
    if policy.window:
        key += (depth_first(binary) // policy.window) * (1.0 + float(-key.min(initial=0.0)))
    return key

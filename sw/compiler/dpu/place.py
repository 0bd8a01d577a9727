"""Step 2: PEs and register banks for one cone, in one cycle. Source: DPU-v2, section IV.B.

Banks of results are chosen when the cone is placed: of those that its PEs can write in that cycle,
the one whose values are least often read together with the new one. Inputs have no bank until
they are needed: each is given one that the cycle leaves free, and a load a few cycles earlier.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hw.dpu.isa import WRITE_COPY
from sw.compiler.dpu.cone import (
    EMPTY,
    LEAF,
    OPERATION,
    inner_uses,
    is_first,
    level_of,
    neighbours,
)
from sw.compiler.dpu.jit import compiled, inner
from sw.compiler.dpu.state import MEMORY_IDLE, MEMORY_LOAD, NONE, hold, let_go

PLACED, PORT_TAKEN, SAME_BANK, NO_LOAD, NO_LANES, NO_REGISTER = range(6)

SPARE_REGISTERS = 2
"""Registers of a bank that results leave free, for words loaded just in time."""


class Scratch(NamedTuple):
    """Working memory of ``place``; ``loaded_at`` and ``loaded_to`` remember, for every input, the
    last cycle that read it and the location. ``arrivals`` and ``next_arrival`` are lists of values
    by the cycle (modulo the length) in which they become readable. ``finished`` counts operations.
    ``path`` holds the roots that were climbed through."""

    kind: np.ndarray
    node: np.ndarray
    claim: np.ndarray
    weight: np.ndarray
    output_place: np.ndarray
    output_bank: np.ndarray
    best_bank: np.ndarray
    undo: np.ndarray
    clash: np.ndarray
    loaded_at: np.ndarray
    loaded_to: np.ndarray
    arrivals: np.ndarray
    next_arrival: np.ndarray
    finished: np.ndarray
    path: np.ndarray


def new_scratch(depth: int, banks: int, values: int) -> Scratch:
    """Working memory for a tree of ``depth`` levels and so many values."""
    places = 1 << (depth + 1)
    return Scratch(
        np.zeros(places, np.uint8),
        np.zeros(places, np.int32),
        np.full(banks, NONE, np.int32),
        np.zeros((places, banks), np.int64),
        np.zeros(places, np.int64),
        np.zeros(places, np.int64),
        np.zeros(places, np.int64),
        np.zeros((places, 3), np.int64),
        np.zeros(2, np.int32),
        np.full(values, NONE, np.int64),
        np.zeros(values, np.int32),
        np.full(64, NONE, np.int32),
        np.full(values, NONE, np.int32),
        np.zeros(1, np.int64),
        np.zeros(depth + 1, np.int32),
    )


@compiled
def place(  # type: ignore[no-untyped-def]
    machine, graph, cycles, values, locations, count, scratch, cycle, levels, window
):
    """Tries to run the expanded cone of ``scratch`` in ``cycle``.

    ``(PLACED or why not, number of locations)``. ``scratch.clash`` holds two values that stand in
    one bank after SAME_BANK.
    """
    kind, node, claim = scratch.kind, scratch.node, scratch.claim
    places = 1 << (levels + 1)
    claim[:] = NONE
    for p in range(2, places):
        if kind[p] == LEAF and node[p] >= graph.leaves:
            location = values.location[node[p]]
            bank = locations.bank[location]
            if claim[bank] != NONE and claim[bank] != location:
                scratch.clash[0] = node[p]
                scratch.clash[1] = locations.value[claim[bank]]
                return SAME_BANK, count
            claim[bank] = location
    for bank in range(machine.banks):
        if claim[bank] == NONE:
            continue
        location = cycles.read[cycle, bank]
        if location != NONE and location != claim[bank]:
            return PORT_TAKEN, count

    outputs = 0
    for p in range(1, places):
        if kind[p] != OPERATION or not is_first(kind, node, p):
            continue
        value = graph.leaves + node[p]
        if values.uses[value] > inner_uses(graph, kind, node, places, node[p]):
            scratch.output_place[outputs] = p
            scratch.weight[outputs, :] = 0
            neighbours(graph, values, locations, value, scratch.weight[outputs])
            outputs += 1
    base, reason = _choose_lanes(machine, cycles, values, scratch, cycle, levels, outputs)
    if base < 0:
        return reason, count

    first = count
    undo = 0
    for p in range(2, places):
        if kind[p] != LEAF or node[p] >= graph.leaves:
            continue
        value = node[p]
        if scratch.loaded_at[value] == cycle:
            claim[locations.bank[scratch.loaded_to[value]]] = scratch.loaded_to[value]
            continue
        if not is_first(kind, node, p):
            continue
        issue, bank = _choose_load(machine, cycles, claim, cycle, window)
        if issue < 0:
            for k in range(undo):
                issue = scratch.undo[k, 0]
                bank = scratch.undo[k, 1]
                cycles.load[issue, bank] = NONE
                cycles.write[issue + machine.load_latency, bank] = NONE
                for at in range(issue + machine.load_latency, cycle + 1):
                    cycles.passing[at, bank] -= 1
                if scratch.undo[k, 2]:
                    cycles.memory[issue] = MEMORY_IDLE
                scratch.loaded_at[locations.value[claim[bank]]] = NONE
            return NO_LOAD, first
        scratch.undo[undo, 0] = issue
        scratch.undo[undo, 1] = bank
        scratch.undo[undo, 2] = cycles.memory[issue] == MEMORY_IDLE
        undo += 1
        locations.value[count] = value
        locations.bank[count] = bank
        cycles.memory[issue] = MEMORY_LOAD
        cycles.load[issue, bank] = count
        cycles.write[issue + machine.load_latency, bank] = count
        for at in range(issue + machine.load_latency, cycle + 1):
            cycles.passing[at, bank] += 1
        claim[bank] = count
        scratch.loaded_at[value] = cycle
        scratch.loaded_to[value] = count
        count += 1

    _program_tree(machine, graph, cycles, values, locations, scratch, cycle, levels, base)
    for k in range(outputs):
        p = scratch.output_place[k]
        bank = scratch.best_bank[k]
        level = levels - level_of(p)
        pe = machine.pe[base + ((p - (1 << level_of(p))) << level), level]
        value = graph.leaves + node[p]
        locations.value[count] = value
        locations.bank[count] = bank
        cycles.write_source[cycle, bank] = machine.writer[pe, bank]
        cycles.write[cycle + machine.latency[level], bank] = count
        values.location[value] = count
        arrive(values, scratch, value, cycle + machine.latency[level])
        count += 1
    _finish_operations(graph, cycles, values, locations, scratch, cycle, places)
    for k in range(outputs):
        value = graph.leaves + node[scratch.output_place[k]]
        hold(values, scratch.best_bank[k], value)
        cycles.held[cycle, scratch.best_bank[k]] += 1
    cycles.busy[cycle] = True
    return PLACED, count


@compiled
def arrive(values, scratch, value, cycle):  # type: ignore[no-untyped-def]
    """Notes that a value can be read from ``cycle`` on."""
    values.ready[value] = cycle
    slot = cycle % len(scratch.arrivals)
    scratch.next_arrival[value] = scratch.arrivals[slot]
    scratch.arrivals[slot] = value


@inner
def _choose_lanes(machine, cycles, values, scratch, cycle, levels, outputs):  # type: ignore[no-untyped-def]
    """The first tree input for a cone, with the banks of its results in ``scratch.best_bank``.

    ``(input, PLACED)`` or ``(-1, why not)``.
    """
    width = 1 << levels
    limit = machine.registers - SPARE_REGISTERS
    best, best_cost = -1, np.int64(1) << 60
    reason = NO_LANES
    for base in range(0, machine.banks, width):
        free = True
        for lane in range(base, base + width):
            if cycles.used[cycle, lane]:
                free = False
                break
        if not free:
            continue
        cost = np.int64(0)
        for k in range(outputs):
            p = scratch.output_place[k]
            level = levels - level_of(p)
            pe = machine.pe[base + ((p - (1 << level_of(p))) << level), level]
            when = cycle + machine.latency[level]
            chosen, chosen_cost = -1, np.int64(1) << 60
            for bank in range(machine.banks):
                if (
                    machine.writer[pe, bank] == 0
                    or cycles.write_source[cycle, bank] != 0
                    or cycles.write[when, bank] != NONE
                ):
                    continue
                if values.held[bank] >= limit:
                    reason = NO_REGISTER
                    continue
                taken = False
                for other in range(k):
                    if scratch.output_bank[other] == bank:
                        taken = True
                if taken:
                    continue
                this = 64 * scratch.weight[k, bank] + values.held[bank]
                if this < chosen_cost:
                    chosen, chosen_cost = bank, this
            if chosen < 0:
                cost = np.int64(-1)
                break
            scratch.output_bank[k] = chosen
            cost += chosen_cost
        if cost >= 0 and cost < best_cost:
            best, best_cost = base, cost
            scratch.best_bank[:outputs] = scratch.output_bank[:outputs]
            if outputs == 0:
                break
    if best < 0:
        return -1, reason
    return best, PLACED


@inner
def _choose_load(machine, cycles, claim, cycle, window):  # type: ignore[no-untyped-def]
    """A load and a bank for one input: ``(issue cycle, bank)``, the cycle -1 if there is none.

    Loads that exist are filled first, then the latest possible one is opened.
    """
    latest = cycle - machine.load_latency
    for opening in range(2):
        for issue in range(latest, max(latest - window, 0) - 1, -1):
            if opening:
                if cycles.memory[issue] != MEMORY_IDLE:
                    continue
                if not machine.overlap and cycles.busy[issue]:
                    continue
            elif cycles.memory[issue] != MEMORY_LOAD:
                continue
            start = issue + machine.load_latency
            for k in range(machine.banks):
                bank = (k + cycle * 8) % machine.banks
                if (
                    cycles.read[cycle, bank] != NONE
                    or claim[bank] != NONE
                    or cycles.load[issue, bank] != NONE
                    or cycles.write[start, bank] != NONE
                ):
                    continue
                fits = True
                for at in range(start, cycle + 1):
                    if cycles.held[at, bank] + cycles.passing[at, bank] >= machine.registers:
                        fits = False
                        break
                if fits:
                    return issue, bank
    return -1, 0


@inner
def _program_tree(  # type: ignore[no-untyped-def]
    machine, graph, cycles, values, locations, scratch, cycle, levels, base
):
    """Writes PE operations, crossbar sources and reads of a cone that stands at ``base``."""
    kind, node = scratch.kind, scratch.node
    for lane in range(base, base + (1 << levels)):
        cycles.used[cycle, lane] = True
    for p in range(1, 1 << (levels + 1)):
        if kind[p] == EMPTY:
            continue
        level = levels - level_of(p)
        lane = base + ((p - (1 << level_of(p))) << level)
        if kind[p] == OPERATION:
            cycles.operation[cycle, machine.pe[lane, level]] = graph.op[node[p]]
            continue
        value = node[p]
        if value < graph.leaves:
            location = scratch.loaded_to[value]
            cycles.release[cycle, locations.bank[location]] = True
        else:
            location = values.location[value]
        bank = locations.bank[location]
        cycles.read[cycle, bank] = location
        cycles.source[cycle, lane] = bank


@inner
def _finish_operations(graph, cycles, values, locations, scratch, cycle, places):  # type: ignore[no-untyped-def]
    """Marks the cone's operations done and frees the registers of operands not needed again."""
    kind, node = scratch.kind, scratch.node
    for p in range(1, places):
        if kind[p] != OPERATION or values.done[node[p]]:
            continue
        operation = node[p]
        values.done[operation] = True
        scratch.finished[0] += 1
        left, right = graph.left[operation], graph.right[operation]
        for side in range(2):
            value = left if side == 0 else right
            if value < graph.leaves or (side == 1 and left == right):
                continue
            values.uses[value] -= 1
            if values.uses[value] == 0 and values.location[value] != NONE:
                location = values.location[value]
                bank = locations.bank[location]
                if cycles.read[cycle, bank] == location:
                    cycles.release[cycle, bank] = True
                    let_go(values, bank, value)


@compiled
def move(  # type: ignore[no-untyped-def]
    machine, graph, cycles, values, locations, count, scratch, cycle, value
):
    """Copies a value to another bank beside what the cycle does: ``(done, locations)``."""
    location = values.location[value]
    if location == NONE or values.ready[value] > cycle:
        return False, count
    bank = locations.bank[location]
    taken = cycles.read[cycle, bank]
    if taken != NONE and taken != location:
        return False, count
    weight = scratch.weight[0]
    weight[:] = 0
    neighbours(graph, values, locations, value, weight)
    when = cycle + machine.latency[0]
    best, best_cost = -1, np.int64(1) << 60
    for other in range(machine.banks):
        if (
            other == bank
            or cycles.used[cycle, other]
            or cycles.write_source[cycle, other] != 0
            or cycles.write[when, other] != NONE
            or values.held[other] >= machine.registers - SPARE_REGISTERS
        ):
            continue
        cost = 64 * weight[other] + values.held[other]
        if cost < best_cost:
            best, best_cost = other, cost
    if best < 0:
        return False, count
    cycles.read[cycle, bank] = location
    cycles.release[cycle, bank] = True
    cycles.source[cycle, best] = bank
    cycles.used[cycle, best] = True
    cycles.write_source[cycle, best] = WRITE_COPY
    cycles.write[when, best] = count
    cycles.busy[cycle] = True
    let_go(values, bank, value)
    locations.value[count] = value
    locations.bank[count] = best
    values.location[value] = count
    values.ready[value] = when
    hold(values, best, value)
    cycles.held[cycle, best] += 1
    return True, count + 1

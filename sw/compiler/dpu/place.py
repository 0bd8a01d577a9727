"""Step 2: PEs and register banks for one cone, or a copy, in one cycle.

Source: DPU-v2, section IV.B. Banks of results are chosen when the cone is placed: of those that its
PEs can write in that cycle, the one whose values are least often read together with the new one.
"""

from __future__ import annotations

from gnarl.hw.dpu.isa import WRITE_COPY
from gnarl.sw.compiler.dpu.cone import (
    EMPTY,
    LEAF,
    OPERATION,
    inner_uses,
    is_first,
    neighbours,
    position,
)
from gnarl.sw.compiler.dpu.loads import load_inputs
from gnarl.sw.compiler.dpu.state import NONE, SPARE_REGISTERS, State, hold, let_go, write
from gnarl.sw.program.jit import in_place, stage

PLACED, PORT_TAKEN, SAME_BANK, NO_LOAD, NO_LANES, NO_REGISTER = range(6)

_NEIGHBOUR_COST = 64
"""Cost of a bank for each value in it that is read together with the result, in registers held."""

_HIGHEST = 1 << 60


@in_place
def place(state: State, levels: int, window: int) -> int:
    """Tries to run the expanded cone of ``scratch`` in the cycle: PLACED, or why not.

    ``window``: cycles that a loaded word may wait for it. Where the cone has no room, nothing
    changes; after SAME_BANK, two values that are in one bank follow the ``clashes`` of the cycle.
    """
    why = _claim_operands(state, levels)
    if why != PLACED:
        return why
    results = _find_results(state, levels)
    base, why = _choose_lanes(state, levels, results)
    if why != PLACED:
        return why
    if not load_inputs(state, levels, window):
        return NO_LOAD
    _program_tree(state, levels, base)
    _write_results(state, levels, base, results)
    _finish_operations(state, levels)
    _hold_results(state, results)
    return PLACED


@stage
def _claim_operands(state: State, levels: int) -> int:
    """Claims the banks of operands in registers: PLACED, SAME_BANK or PORT_TAKEN."""
    machine, graph, cycles, values, locations, scratch, progress, _, _ = state
    claim = scratch.claim
    claim[:] = NONE
    for p in range(2, 1 << (levels + 1)):
        if scratch.kind[p] != LEAF or scratch.node[p] < graph.leaves:
            continue
        location = values.location[scratch.node[p]]
        bank = locations.bank[location]
        if claim[bank] != NONE and claim[bank] != location:
            scratch.clashes[progress.clashes, 0] = scratch.node[p]
            scratch.clashes[progress.clashes, 1] = locations.value[claim[bank]]
            return SAME_BANK
        claim[bank] = location
    for bank in range(machine.banks):
        location = cycles.read[progress.cycle, bank]
        if claim[bank] != NONE and location != NONE and location != claim[bank]:
            return PORT_TAKEN
    return PLACED


@stage
def _find_results(state: State, levels: int) -> int:
    """Fills in ``result`` and ``weight``: what the cone computes and others need; how many."""
    graph, values, scratch = state.graph, state.values, state.scratch
    places = 1 << (levels + 1)
    count = 0
    for p in range(1, places):
        if scratch.kind[p] != OPERATION or not is_first(scratch, p):
            continue
        value = graph.leaves + scratch.node[p]
        if values.uses[value] > inner_uses(graph, scratch, places, scratch.node[p]):
            scratch.result[count] = p
            row = scratch.weight[count]
            neighbours(graph, values, state.locations, scratch, value, row)
            count += 1
    return count


@stage
def _choose_lanes(state: State, levels: int, results: int) -> tuple[int, int]:
    """The first tree input for a cone, with the banks of its results in ``best_bank``.

    ``(input, PLACED)`` or ``(-1, why not)``.
    """
    cycles, scratch, cycle = state.cycles, state.scratch, state.progress.cycle
    width = 1 << levels
    best, best_cost, reason = -1, _HIGHEST, NO_LANES
    for base in range(0, state.machine.banks, width):
        free = True
        for lane in range(base, base + width):
            if cycles.used[cycle, lane]:
                free = False
                break
        if not free:
            continue
        cost, full = _choose_banks(state, levels, base, results)
        if full:
            reason = NO_REGISTER
        if cost >= 0 and cost < best_cost:
            best, best_cost = base, cost
            for k in range(results):
                scratch.best_bank[k] = scratch.bank[k]
            if results == 0:
                break
    return best, reason if best < 0 else PLACED


@stage
def _choose_banks(state: State, levels: int, base: int, results: int) -> tuple[int, bool]:
    """Banks for all results of a cone at ``base``: ``(cost, whether some bank was full)``.

    The cost is -1 where a result finds none.
    """
    machine, _, cycles, values, _, scratch, progress, _, _ = state
    total, full = 0, False
    for k in range(results):
        layer, lane = position(scratch.result[k], levels)
        pe = machine.pe[base + lane, layer]
        when = progress.cycle + machine.latency[layer]
        chosen, lowest = NONE, _HIGHEST
        for bank in range(machine.banks):
            if (
                machine.writer[pe, bank] == 0
                or cycles.write_source[progress.cycle, bank] != 0
                or cycles.write[when, bank] != NONE
            ):
                continue
            if values.held[bank] >= machine.registers - SPARE_REGISTERS:
                full = True
                continue
            taken = False
            for other in range(k):
                taken |= scratch.bank[other] == bank
            cost = _NEIGHBOUR_COST * scratch.weight[k, bank] + values.held[bank]
            if not taken and cost < lowest:
                chosen, lowest = bank, cost
        if chosen == NONE:
            return -1, full
        scratch.bank[k] = chosen
        total += lowest
    return total, full


@stage
def _program_tree(state: State, levels: int, base: int) -> None:
    """Writes PE operations, crossbar sources and reads of a cone whose tree inputs start at
    ``base``."""
    machine, graph, cycles, values, locations, scratch, progress, _, _ = state
    cycle = progress.cycle
    cycles.busy[cycle] = True
    for lane in range(base, base + (1 << levels)):
        cycles.used[cycle, lane] = True
    for p in range(1, 1 << (levels + 1)):
        if scratch.kind[p] == EMPTY:
            continue
        layer, lane = position(p, levels)
        if scratch.kind[p] == OPERATION:
            pe = machine.pe[base + lane, layer]
            cycles.operation[cycle, pe] = graph.op[scratch.node[p]]
            continue
        value = scratch.node[p]
        is_input = value < graph.leaves
        location = values.loaded_to[value] if is_input else values.location[value]
        bank = locations.bank[location]
        if is_input:
            cycles.release[cycle, bank] = True
        cycles.read[cycle, bank] = location
        cycles.source[cycle, base + lane] = bank


@stage
def _write_results(state: State, levels: int, base: int, results: int) -> None:
    """Sends the results to their banks."""
    machine, graph, cycles, values, _, scratch, progress, _, _ = state
    for k in range(results):
        layer, lane = position(scratch.result[k], levels)
        bank = scratch.best_bank[k]
        value = graph.leaves + scratch.node[scratch.result[k]]
        when = progress.cycle + machine.latency[layer]
        pe = machine.pe[base + lane, layer]
        cycles.write_source[progress.cycle, bank] = machine.writer[pe, bank]
        write(state, value, bank, when)
        slot = when % len(values.arrivals)
        values.next_arrival[value] = values.arrivals[slot]
        values.arrivals[slot] = value


@stage
def _finish_operations(state: State, levels: int) -> None:
    """Marks the cone's operations done and frees the registers of operands not needed again."""
    _, graph, cycles, values, locations, scratch, progress, _, _ = state
    for p in range(1, 1 << (levels + 1)):
        operation = scratch.node[p]
        if scratch.kind[p] != OPERATION or values.done[operation]:
            continue
        values.done[operation] = True
        progress.finished += 1
        left, right = graph.left[operation], graph.right[operation]
        for side in range(1 if left == right else 2):
            value = left if side == 0 else right
            if value < graph.leaves:
                continue
            values.uses[value] -= 1
            location = values.location[value]
            if values.uses[value] == 0 and location != NONE:
                bank = locations.bank[location]
                if cycles.read[progress.cycle, bank] == location:
                    cycles.release[progress.cycle, bank] = True
                    let_go(values, value, bank)


@stage
def _hold_results(state: State, results: int) -> None:
    """Takes the registers of the results, after those of the operands are free."""
    scratch = state.scratch
    for k in range(results):
        value = state.graph.leaves + scratch.node[scratch.result[k]]
        hold(state, value, scratch.best_bank[k])


@in_place
def move(state: State, value: int) -> bool:
    """Copies a value to another bank beside what the cycle does, if it can."""
    machine, _, cycles, values, locations, _, progress, _, _ = state
    cycle = progress.cycle
    location = values.location[value]
    if location == NONE or values.ready[value] > cycle:
        return False
    bank = locations.bank[location]
    if cycles.read[cycle, bank] != NONE and cycles.read[cycle, bank] != location:
        return False
    target = _choose_copy_bank(state, value, bank)
    if target == NONE:
        return False
    cycles.read[cycle, bank] = location
    cycles.release[cycle, bank] = True
    cycles.source[cycle, target] = bank
    cycles.used[cycle, target] = True
    cycles.write_source[cycle, target] = WRITE_COPY
    cycles.busy[cycle] = True
    let_go(values, value, bank)
    write(state, value, target, cycle + machine.latency[0])
    hold(state, value, target)
    progress.copies += 1
    return True


@stage
def _choose_copy_bank(state: State, value: int, bank: int) -> int:
    """The bank that takes a copy of a value in ``bank`` through a free tree input; or NONE."""
    machine, graph, cycles, values, locations, scratch, progress, _, _ = state
    weight = scratch.weight[0]
    neighbours(graph, values, locations, scratch, value, weight)
    cycle, when = progress.cycle, progress.cycle + machine.latency[0]
    best, best_cost = NONE, _HIGHEST
    for other in range(machine.banks):
        if (
            other == bank
            or cycles.used[cycle, other]
            or cycles.write_source[cycle, other] != 0
            or cycles.write[when, other] != NONE
            or values.held[other] >= machine.registers - SPARE_REGISTERS
        ):
            continue
        cost = _NEIGHBOUR_COST * weight[other] + values.held[other]
        if cost < best_cost:
            best, best_cost = other, cost
    return best

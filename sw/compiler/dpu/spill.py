"""Step 4: what goes to memory and back: outputs, and values that the registers cannot hold.

Source: DPU-v2, section IV.D.
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.compiler.dpu.state import (
    MEMORY_RELOAD,
    MEMORY_STORE,
    NONE,
    SPARE_REGISTERS,
    Graph,
    Machine,
    State,
    Values,
    hold,
    let_go,
    write,
)
from gnarl.sw.program.jit import inner, stage


@stage
def _is_nearly_full(machine: Machine, values: Values, bank: int) -> bool:
    """Whether a bank has at most one register left for a result."""
    return values.held[bank] >= machine.registers - SPARE_REGISTERS - 1


@stage
def note_pressure(state: State, key: float) -> None:
    """Lets nearly full banks spill what is needed later than an operation of this key."""
    pressure = state.scratch.pressure
    for bank in range(len(pressure)):
        if _is_nearly_full(state.machine, state.values, bank):
            pressure[bank] = min(pressure[bank], key)


@stage
def reload(state: State) -> bool:
    """Loads spilled operands of the wanted operations, one row's; whether there were any.

    Notes in ``pressure`` the banks that have no register for them.
    """
    machine, graph, cycles, values, _, scratch, progress, key, _ = state
    wanted, pressure, cycle = scratch.wanted, scratch.pressure, progress.cycle
    row = NONE
    when = cycle + machine.load_latency
    for k in range(progress.wanted):
        for side in range(2):
            value = graph.left[wanted[k]] if side == 0 else graph.right[wanted[k]]
            if (
                value < graph.leaves
                or values.location[value] != NONE
                or values.row[value] == NONE
                or (row != NONE and values.row[value] != row)
            ):
                continue
            bank = values.lane[value]
            if values.held[bank] >= machine.registers - 1:
                pressure[bank] = min(pressure[bank], key[wanted[k]])
                continue
            if cycles.write[when, bank] != NONE or cycles.load[cycle, bank] != NONE:
                continue
            row = values.row[value]
            cycles.load[cycle, bank] = write(state, value, bank, when)
            hold(state, value, bank)
    if row == NONE:
        return False
    cycles.memory[cycle] = MEMORY_RELOAD
    cycles.row[cycle] = row
    return True


@inner
def _next_use(graph: Graph, values: Values, key: np.ndarray, value: int) -> float:
    """Key of the most urgent operation that still needs ``value``; infinity if none does."""
    best = np.inf
    first = graph.user_offsets[value]
    for k in range(first, min(first + 32, graph.user_offsets[value + 1])):
        user = graph.users[k]
        if not values.done[user]:
            best = min(best, key[user])
    return best


@stage
def unstored_banks(values: Values) -> int:
    """How many banks hold outputs to be stored."""
    banks = 0
    for unstored in values.unstored:
        banks += unstored > 0
    return banks


@stage
def has_pressure(pressure: np.ndarray) -> bool:
    """Whether some bank has to spill."""
    for bank in range(len(pressure)):
        if pressure[bank] < np.inf:
            return True
    return False


@stage
def store(state: State, remaining: int) -> None:
    """Stores outputs and, where registers run out, spills: one row, if it is worth a cycle.

    ``remaining`` operations were not scheduled before this cycle.
    """
    machine, _, cycles, values, _, scratch, progress, _, _ = state
    few = 2 * unstored_banks(values) < machine.banks
    if few and remaining > 0 and not has_pressure(scratch.pressure):
        return
    row = progress.rows
    for bank in range(machine.banks):
        value = _choose_value(state, bank)
        if value != NONE:
            _put_away(state, bank, value, row)
            cycles.memory[progress.cycle] = MEMORY_STORE
            cycles.row[progress.cycle] = row
            progress.rows = row + 1


@inner
def _choose_value(state: State, bank: int) -> int:
    """What a bank stores: an output that it reads anyway, else what is needed latest of its outputs
    and, under pressure, of its values; or NONE. Operands of the operation ``focus`` stay."""
    machine, graph, cycles, values, locations, scratch, progress, key, _ = state
    cycle, focus, pressure = progress.cycle, progress.focus, scratch.pressure[bank]
    location = cycles.read[cycle, bank]
    if location != NONE:
        value = locations.value[location]
        stays = value >= graph.leaves and values.pending[value]
        return value if stays and values.location[value] == location else NONE
    must_spill = pressure < np.inf and _is_nearly_full(machine, values, bank)
    if values.unstored[bank] == 0 and not must_spill:
        return NONE
    chosen, farthest = NONE, -np.inf
    for slot in range(machine.registers):
        value = values.resident[bank, slot]
        if value == NONE or values.ready[value] > cycle:
            continue
        use = _next_use(graph, values, key, value)
        if not values.pending[value]:
            if use <= pressure:
                continue
            if focus != NONE and value in (graph.left[focus], graph.right[focus]):
                continue
        if use > farthest:
            chosen, farthest = value, use
    return chosen


@stage
def _put_away(state: State, bank: int, value: int, row: int) -> None:
    """Stores a value in ``row``, and frees its register unless an operation still needs it."""
    cycles, values, progress = state.cycles, state.values, state.progress
    gone = True
    if values.pending[value]:
        values.pending[value] = False
        values.unstored[bank] -= 1
        values.uses[value] -= 1
        progress.unstored -= 1
        gone = values.uses[value] == 0
    else:
        progress.spills += 1
    values.row[value] = row
    values.lane[value] = bank
    cycles.read[progress.cycle, bank] = values.location[value]
    cycles.store[progress.cycle, bank] = values.location[value]
    if gone:
        cycles.release[progress.cycle, bank] = True
        let_go(values, value, bank)

"""Step 4: what goes to memory and back: outputs, and values that the registers cannot hold.

Source: DPU-v2, section IV.D.
"""

from __future__ import annotations

import numpy as np

from sw.compiler.dpu.jit import inner
from sw.compiler.dpu.place import SPARE_REGISTERS
from sw.compiler.dpu.state import MEMORY_RELOAD, NONE, hold, let_go


@inner
def press(machine, values, pressure, key):  # type: ignore[no-untyped-def]
    """Lets nearly full banks spill what is needed later than an operation of this key."""
    for bank in range(machine.banks):
        if values.held[bank] >= machine.registers - SPARE_REGISTERS - 1:
            pressure[bank] = min(pressure[bank], key)


@inner
def reload(  # type: ignore[no-untyped-def]
    machine, graph, cycles, values, locations, located, cycle, key, wanted, wants, pressure
):
    """Loads spilled operands of the wanted operations, one row's: ``(any, locations)``.

    Notes in ``pressure`` the banks that have no register for them.
    """
    row = NONE
    when = cycle + machine.load_latency
    for k in range(wants):
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
            locations.value[located] = value
            locations.bank[located] = bank
            cycles.load[cycle, bank] = located
            cycles.write[when, bank] = located
            values.location[value] = located
            values.ready[value] = when
            hold(values, bank, value)
            cycles.held[cycle, bank] += 1
            located += 1
    if row == NONE:
        return False, located
    cycles.memory[cycle] = MEMORY_RELOAD
    cycles.row[cycle] = row
    return True, located


@inner
def _next_use(graph, values, key, value):  # type: ignore[no-untyped-def]
    """Key of the most urgent operation that still needs ``value``; infinity if none does."""
    best = np.inf
    first = graph.user_offsets[value]
    for k in range(first, min(first + 32, graph.user_offsets[value + 1])):
        user = graph.users[k]
        if not values.done[user]:
            best = min(best, key[user])
    return best


@inner
def store(  # type: ignore[no-untyped-def]
    machine, graph, cycles, values, locations, row, cycle, key, pressure, remaining, focus
):
    """Stores outputs, and spills where registers run out: ``(outputs stored, values spilled)``.

    Operands of the operation ``focus`` stay.
    """
    unstored = 0
    pressed = False
    for bank in range(machine.banks):
        unstored += values.unstored[bank] > 0
        pressed |= pressure[bank] < np.inf
    if not pressed and 2 * unstored < machine.banks and remaining > 0:
        return 0, 0
    stored, spilt = 0, 0
    for bank in range(machine.banks):
        location = cycles.read[cycle, bank]
        chosen = NONE
        if location != NONE:
            value = locations.value[location]
            if value >= graph.leaves and values.pending[value]:
                if values.location[value] == location:
                    chosen = value
        elif values.unstored[bank] > 0 or (
            pressure[bank] < np.inf and values.held[bank] >= machine.registers - SPARE_REGISTERS - 1
        ):
            farthest = -np.inf
            for slot in range(machine.registers):
                value = values.resident[bank, slot]
                if value == NONE or values.ready[value] > cycle:
                    continue
                use = _next_use(graph, values, key, value)
                if not values.pending[value]:
                    if use <= pressure[bank]:
                        continue
                    if focus != NONE and value in (graph.left[focus], graph.right[focus]):
                        continue
                if use > farthest:
                    farthest = use
                    chosen = value
        if chosen == NONE:
            continue
        location = values.location[chosen]
        gone = True
        if values.pending[chosen]:
            values.pending[chosen] = False
            values.unstored[bank] -= 1
            values.uses[chosen] -= 1
            stored += 1
            gone = values.uses[chosen] == 0
        else:
            spilt += 1
        values.row[chosen] = row
        values.lane[chosen] = bank
        cycles.read[cycle, bank] = location
        cycles.store[cycle, bank] = location
        if gone:
            cycles.release[cycle, bank] = True
            let_go(values, bank, chosen)
    return stored, spilt

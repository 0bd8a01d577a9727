"""Inputs get a bank when a cone needs them, and a load a few cycles before, in filled cycles."""

from __future__ import annotations

from gnarl.sw.compiler.dpu.cone import LEAF, is_first
from gnarl.sw.compiler.dpu.state import MEMORY_IDLE, MEMORY_LOAD, NONE, State, write
from gnarl.sw.program.jit import inner, stage


@stage
def load_inputs(state: State, levels: int, window: int) -> bool:
    """Loads the cone's inputs, each no earlier than it can wait ``window`` cycles; or none of them.

    Enters them in ``claim``; words that the cycle reads already are not loaded again.
    """
    machine, graph, cycles, values, locations, scratch, progress, _, _ = state
    loads = 0
    for place in range(2, 1 << (levels + 1)):
        value = scratch.node[place]
        if scratch.kind[place] != LEAF or value >= graph.leaves:
            continue
        if values.loaded_at[value] == progress.cycle:
            location = values.loaded_to[value]
            scratch.claim[locations.bank[location]] = location
            continue
        if not is_first(scratch, place):
            continue
        issue, bank = _choose_load(state, window)
        if issue < 0:
            _remove_loads(state, loads)
            return False
        scratch.load[loads, 0] = issue
        scratch.load[loads, 1] = bank
        scratch.load[loads, 2] = cycles.memory[issue] == MEMORY_IDLE
        loads += 1
        location = write(state, value, bank, issue + machine.load_latency)
        scratch.claim[bank] = location
        cycles.memory[issue] = MEMORY_LOAD
        cycles.load[issue, bank] = location
        _wait(state, issue, bank, 1)
        values.loaded_at[value] = progress.cycle
        values.loaded_to[value] = location
    return True


@stage
def _wait(state: State, issue: int, bank: int, registers: int) -> None:
    """Takes (1) or gives back (-1) the register of a loaded word until the cycle that reads it."""
    for at in range(issue + state.machine.load_latency, state.progress.cycle + 1):
        state.cycles.passing[at, bank] += registers


@stage
def _remove_loads(state: State, loads: int) -> None:
    """Takes back the loads that were added for a cone that has no room for another."""
    scratch = state.scratch
    for k in range(loads):
        issue, bank = scratch.load[k, 0], scratch.load[k, 1]
        state.cycles.load[issue, bank] = NONE
        state.cycles.write[issue + state.machine.load_latency, bank] = NONE
        _wait(state, issue, bank, -1)
        if scratch.load[k, 2]:
            state.cycles.memory[issue] = MEMORY_IDLE
        state.values.loaded_at[state.locations.value[scratch.claim[bank]]] = NONE
    state.progress.locations -= loads


@inner
def _choose_load(state: State, window: int) -> tuple[int, int]:
    """A load and a bank for one input: ``(issue cycle, bank)``, the cycle -1 if there is none.

    Loads that exist are filled first, then the latest possible one is opened.
    """
    machine, _, cycles, _, _, scratch, progress, _, _ = state
    cycle = progress.cycle
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
                # Neighbouring cycles try other banks first.
                bank = (k + (progress.packed + cycle) * 8) % machine.banks
                if (
                    cycles.read[cycle, bank] != NONE
                    or scratch.claim[bank] != NONE
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

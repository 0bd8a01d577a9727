"""The addresses that the automatic write policy will choose. Source: DPU-v2, section III.B."""

from __future__ import annotations

import numpy as np

from gnarl.sw.compiler.dpu.schedule import Schedule
from gnarl.sw.compiler.dpu.state import NONE
from gnarl.sw.program.jit import compiled


def register_addresses(schedule: Schedule, registers: int) -> np.ndarray:
    """int32 [locations], the register of each location, by replaying all writes and releases.

    A bank writes to its lowest empty register, by its valid bits at the start of the cycle.
    O(cycles · banks · registers). Raises ``RuntimeError`` if the schedule overfills a bank or reads
    a register that holds something else: a defect of the scheduler.
    """
    cycles = schedule.cycles
    address, cycle, bank = _replay(
        cycles.read, cycles.write, cycles.release, len(schedule.locations.value), registers
    )
    if cycle >= 0:
        raise RuntimeError(f"schedule breaks a register rule in cycle {cycle}, bank {bank}")
    return address


@compiled
def _replay(
    read: np.ndarray, write: np.ndarray, release: np.ndarray, locations: int, registers: int
) -> tuple[np.ndarray, int, int]:
    count, banks = read.shape
    address = np.full(locations, NONE, np.int32)
    holder = np.full((banks, registers), NONE, np.int32)
    for cycle in range(count):
        for bank in range(banks):
            location = write[cycle, bank]
            if location != NONE:
                slot = 0
                while slot < registers and holder[bank, slot] != NONE:
                    slot += 1
                if slot == registers:
                    return address, cycle, bank
                holder[bank, slot] = location
                address[location] = slot
            location = read[cycle, bank]
            if location != NONE:
                slot = address[location]
                if slot == NONE or holder[bank, slot] != location:
                    return address, cycle, bank
                if release[cycle, bank]:
                    holder[bank, slot] = NONE
    return address, -1, -1

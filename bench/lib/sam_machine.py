"""How long the machines of SAM take for a run's cycles, on either simulator."""

from __future__ import annotations

import time
from typing import Any

from gnarl.sw.program.program import Program
from gnarl.sw.runtime.report.stages import TimedStages
from gnarl.sw.runtime.run.device import Device

LIMIT_FASTER = 5.0
"""Of the cycle simulator's cycles a second over those of the Verilated machine."""


def machine_s(device: Device, timed: TimedStages, program: Program, inputs: Any) -> float:
    """Seconds of all launches, once the device has run them before.

    On RTL from the first word loaded, of those that have changed, to the last one read; on the
    model from the contents of memories to cycles and counters, without the values of results, which
    the model computes besides. ``timed``: the device's stages.
    """
    before = _simulate_s(timed)
    launches = device.run(program, inputs).launches
    if device.backend != "model":
        return _simulate_s(timed) - before
    jobs = [each.job for each in launches]
    began = time.perf_counter()
    for job in jobs:
        job.operands.simulated(job.max_cycles)
    return time.perf_counter() - began


def _simulate_s(timed: TimedStages) -> float:
    return sum(seconds for name, seconds in timed.seconds.items() if name.startswith("simulate"))

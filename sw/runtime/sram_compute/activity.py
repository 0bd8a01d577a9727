"""What the machine does, cycle by cycle."""

from __future__ import annotations

import numpy as np

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.report.timeline import NOT_THE_MACHINES, Activity
from gnarl.sw.runtime.sram_compute.figures import CYCLES, FETCH, Tensors
from gnarl.sw.runtime.sram_compute.model.cycle_counts import covered, cycles_by_kind
from gnarl.sw.runtime.sram_compute.model.system import System

_USEFUL_FIRST = ("compute", "near-memory", "core", "final reduction", "move", FETCH)


def activity(run: LaunchRun[HostJob[Tensors]]) -> Activity:
    """What each cycle of a run is spent on, by the report's names; a bank is busy while it runs a
    microprogram. The model has the hardware's cycles, or a note says that it has not."""
    config, image = SramConfig.from_dict(run.launch.config), run.job.image
    system = System(config)
    system.load(image)
    done = system.run(int(image["program"].words[0, 0]), run.job.max_cycles)
    places = cycles_by_kind(done.cycles, done.kinds())
    busy = np.zeros(done.cycles, np.int64)
    for bank in system.banks:
        busy += covered(done.cycles, bank.times.programs)
    names = [*_USEFUL_FIRST, *(name for name in CYCLES if name not in _USEFUL_FIRST)]
    kinds = {name: places[CYCLES[name]] for name in names}
    counted = run.finished.counters
    agrees = all(np.count_nonzero(kinds[name]) == counted[CYCLES[name]] for name in names)
    return Activity("banks", config.banks, busy, kinds, "" if agrees else NOT_THE_MACHINES)

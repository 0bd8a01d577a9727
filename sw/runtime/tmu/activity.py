"""What the execute unit does, instruction by instruction."""

from __future__ import annotations

import numpy as np

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.report.timeline import Activity
from gnarl.sw.runtime.tmu.image import Operands
from gnarl.sw.runtime.tmu.model.machine import executed

_VECTOR, _SCALAR, _MEMORY, _CONTROL = _KINDS = (
    "vector arithmetic",
    "scalar arithmetic",
    "loads and stores",
    "control",
)


def activity(run: LaunchRun[HostJob[Operands]]) -> Activity:
    """The instructions that a run does, one after the other, since the model has no time.

    Lanes are busy with arithmetic, also where a mask drops their results.
    """
    config = TmuConfig.from_dict(run.launch.config)
    kinds, parts = executed(config, run.job.image, run.job.max_cycles)
    computes = ~kinds.control & ~kinds.memory
    lanes_of = np.where(computes, kinds.lanes, 0).astype(np.uint8)
    kind_of = np.select(
        [kinds.control, kinds.memory, kinds.lanes > 1],
        [_KINDS.index(name) for name in (_CONTROL, _MEMORY, _VECTOR)],
        _KINDS.index(_SCALAR),
    ).astype(np.uint8)
    done = [(lanes_of[part], kind_of[part]) for part in parts]
    busy, issued = (np.concatenate(each) for each in zip(*done, strict=True))
    return Activity(
        "lanes",
        config.lanes,
        busy,
        {name: issued == number for number, name in enumerate(_KINDS)},
        "instructions of the model, which has no cycles: not the time of the RTL",
        "instruction",
    )

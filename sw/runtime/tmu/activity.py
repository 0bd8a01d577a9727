"""What both units do in the course of a run, or the execute unit instruction by instruction."""

from __future__ import annotations

import numpy as np

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.program.program import Launch
from gnarl.sw.program.rows import Samples
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.report.timeline import Activity
from gnarl.sw.runtime.tmu.figures import ACCESS_WAITS, WAITS
from gnarl.sw.runtime.tmu.image import Operands
from gnarl.sw.runtime.tmu.model.machine import executed

_QUEUED = "words_in_queue"

_VECTOR, _SCALAR, _MEMORY, _CONTROL = _KINDS = (
    "vector arithmetic",
    "scalar arithmetic",
    "loads and stores",
    "control",
)


def drawn_counters(launch: Launch) -> list[str]:
    """Counters that a picture needs in the course of a run."""
    return [*WAITS.values(), *ACCESS_WAITS.values(), _QUEUED]


def activity(run: LaunchRun[HostJob[Operands]]) -> Activity:
    """What both units did, by counters that were read in the course of the run; without them the
    instructions, one after the other, since the model has no time."""
    samples = run.finished.samples
    return _instructions(run) if samples is None else _sampled(run, samples)


def _sampled(run: LaunchRun[HostJob[Operands]], samples: Samples) -> Activity:
    config, edges = TmuConfig.from_dict(run.launch.config), samples.edges()
    execute, access = (
        {
            label if name == "instructions" else f"waits: {label}": samples.rates(name, edges)
            for label, name in names.items()
        }
        for names in (WAITS, ACCESS_WAITS)
    )
    return Activity(
        "words of the data queue",
        config.data_words,
        samples.rates(_QUEUED, edges),
        execute,
        edges=edges,
        state="in use",
        whole="cycles: execute unit",
        others={"cycles: access unit": access} if any(map(np.any, access.values())) else {},
    )


def _instructions(run: LaunchRun[HostJob[Operands]]) -> Activity:
    """Lanes are busy with arithmetic, also where a mask drops their results."""
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

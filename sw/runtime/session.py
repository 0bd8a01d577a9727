"""One run from a file to its report: what ``gnarl run`` does."""

from __future__ import annotations

import zipfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from hw.lib.errors import WorkloadError
from sw.runtime.atomic import atomic_path
from sw.runtime.configuration import NamedConfiguration
from sw.runtime.device import Device, Result
from sw.runtime.program import Program
from sw.runtime.report import Report
from sw.runtime.stages import Stages, TimedStages, quiet
from sw.runtime.timeline import draw_timeline
from sw.runtime.verify import Verification
from sw.targets import Runtime


def run_once(
    configuration: NamedConfiguration,
    source: Path,
    *,
    backend: str = "rtl",
    values: Path | None = None,
    seed: int = 0,
    reassociate: bool = True,
    waves: Path | None = None,
    timeline: Path | None = None,
    stages: Stages = quiet,
) -> Report:
    """Runs a workload's file, or a program's, and compares the result with the golden model.

    values
        file of input values; without, those of the workload, which a program does not have.
    waves, timeline
        files to write, each whole or not at all.

    Raises ``GnarlError`` for bad input of any kind.
    """
    timed = TimedStages(stages)
    runtime: Runtime = configuration.target.part("runtime")
    with ExitStack() as stack:
        if waves is not None:
            waves = stack.enter_context(atomic_path(waves))
        device = stack.enter_context(Device(configuration, backend, waves=waves, stages=timed))
        if is_program(source):
            program = Program.load(source, configuration.config)
            defaults = None
        else:
            workload = device.workload(source, seed)
            program = device.compile(workload, seed=seed, reassociate=reassociate)
            defaults = workload.inputs
        if values is not None:
            inputs = runtime.input_values(program, values, defaults, seed)
        elif defaults is not None or not program.input_names:
            inputs = np.zeros(0) if defaults is None else defaults
        else:
            raise WorkloadError(
                f"{source}: a program has no input values: --values FILE gives them"
            )
        result = device.run(program, inputs)
        verification = device.verify(program, inputs, result)
        if not verification.bit_exact:
            reason = device.diagnose(program, inputs)
            verification = replace(verification, difference=f"{verification.difference}; {reason}")
    report = _report(configuration, backend, program, result, verification, timed.seconds)
    if timeline is not None:
        title = (
            f"{report.workload} on {report.config}: {report.cycles:,} cycles, "
            f"{report.ops_per_cycle:.1f} operations a cycle"
        )
        draw_timeline(runtime.activity(program), title, timeline)
    return report


def is_program(path: Path) -> bool:
    """Whether a file is a program rather than a workload, or says that it is one."""
    return path.suffix == ".npz" or zipfile.is_zipfile(path)


def _report(
    configuration: NamedConfiguration,
    backend: str,
    program: Program,
    result: Result,
    verification: Verification,
    seconds: dict[str, float],
) -> Report:
    runtime: Runtime = configuration.target.part("runtime")
    ops = program.statistics["operations"]
    unit, capacity = runtime.units(configuration.config)
    return Report(
        config=configuration.name,
        target=configuration.target.name,
        workload=program.workload,
        backend=backend,
        digest=configuration.config.digest,
        overrides=configuration.overrides,
        cycles=result.cycles,
        counters=result.counters,
        ops=ops,
        utilisation=ops / (result.cycles * capacity),
        unit=unit,
        bit_exact=verification.bit_exact,
        difference=verification.difference,
        max_rel_error=verification.max_rel_error,
        statistics=program.statistics,
        outputs=dict(zip(program.output_names, result.outputs.tolist(), strict=True)),
        seconds=seconds,
        charts=runtime.charts(program, result.cycles),
    )

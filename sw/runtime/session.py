"""One run from a file to its report: what ``gnarl run`` does."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from hw.lib.errors import WorkloadError
from sw.program.atomic import atomic_path
from sw.program.program import Program
from sw.runtime.configuration import NamedConfiguration
from sw.runtime.device import Device
from sw.runtime.report import Report
from sw.runtime.result import Result
from sw.runtime.stages import Stages, TimedStages, quiet
from sw.runtime.timeline import draw_timeline
from sw.runtime.verify import Verification
from sw.targets import Runtime


def run_once(
    configuration: NamedConfiguration,
    source: str,
    *,
    backend: str | None = None,
    values: Path | None = None,
    tensors: Mapping[str, str] | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    waves: Path | None = None,
    timeline: Path | None = None,
    stages: Stages = quiet,
) -> Report:
    """Runs a workload, or a program's file, and compares the result with the golden model.

    source
        path of a workload or program, or what else the target takes: an expression.
    backend
        one of the target's; by default its first.
    values, tensors
        file of input values, files of tensors by name; without, the inputs are those of the
        workload, which a program does not have.
    options
        the target's compiler's own.
    waves, timeline
        files to write, each whole or not at all.

    Raises ``GnarlError`` for bad input of any kind.
    """
    backend = backend or configuration.target.backends[0]
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
            workload = device.workload(runtime.source(source, tensors or {}), seed)
            program = device.compile(workload, seed=seed, **(options or {}))
            defaults = workload.inputs
        if is_program(source) and program.input_names and not (values or tensors):
            raise WorkloadError(
                f"{source}: a program has no input values: "
                "--values FILE, or --tensor NAME=PATH, gives them"
            )
        inputs = runtime.new_inputs(program, values, tensors or {}, defaults, seed)
        # Counting needs a model of some machines: what stops them is told before RTL is built.
        operands = runtime.operands(program, inputs)
        ops = runtime.operations(program, operands)
        result = device.run(program, inputs)
        verification = device.verify(program, inputs, result)
        if not verification.bit_exact:
            reason = device.diagnose(program, inputs)
            verification = replace(verification, difference=f"{verification.difference}; {reason}")
    report = _report(configuration, backend, program, result, ops, verification, timed.seconds)
    if timeline is not None:
        title = (
            f"{report.workload} on {report.config}: {report.cycles:,} cycles, "
            f"{report.ops_per_cycle:.1f} operations a cycle"
        )
        activity = runtime.activity(program, operands)
        note = f"; {activity.note}" if activity.note else ""
        draw_timeline(activity, f"{title}{note}", timeline)
    return report


def is_program(source: str) -> bool:
    """Whether a file is a program rather than a workload, or says that it is one."""
    return source.endswith(".npz") or (os.path.isfile(source) and zipfile.is_zipfile(source))


def _report(
    configuration: NamedConfiguration,
    backend: str,
    program: Program,
    result: Result,
    ops: int,
    verification: Verification,
    seconds: dict[str, float],
) -> Report:
    runtime: Runtime = configuration.target.part("runtime")
    unit, capacity = runtime.units(program)
    return Report(
        config=configuration.name,
        target=configuration.target.name,
        workload=program.workload,
        backend=backend,
        digest=program.digest,
        overrides=configuration.overrides,
        cycles=result.cycles,
        counters=result.counters,
        ops=ops,
        utilisation=ops / (result.cycles * capacity),
        unit=unit,
        bit_exact=verification.bit_exact,
        difference=verification.difference,
        max_rel_error=verification.max_rel_error,
        statistics=runtime.statistics(program, result),
        outputs=dict(zip(result.names, result.outputs.tolist(), strict=True)),
        seconds=seconds,
        charts=runtime.charts(program, result),
    )

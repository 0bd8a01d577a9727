"""One run from a model's file to its report: ``gnarl run`` of the CUDA target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hw.lib.errors import WorkloadError
from sw.compiler.cuda.program import EmbeddingProgram
from sw.compiler.cuda.sections import decode
from sw.program.program import Program
from sw.runtime.configuration import NamedConfiguration
from sw.runtime.cuda.device import CudaDevice, EmbeddingResult
from sw.runtime.cuda.frontend import source as model_source
from sw.runtime.cuda.grid import map_batch
from sw.runtime.cuda.picture import draw_grid
from sw.runtime.cuda.verify import verify
from sw.runtime.report import Chart, Report
from sw.runtime.session import is_program
from sw.runtime.stages import Stages, TimedStages, quiet
from sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from sw.workloads.embedding.files import load_values
from sw.workloads.embedding.model import Batch, EmbeddingModel

DEFAULT_BATCH = 64


@dataclass(frozen=True)
class _Inputs:
    tables: Sequence[np.ndarray]
    batch: Batch


def run_once(
    configuration: NamedConfiguration,
    source: str,
    *,
    backend: str | None = None,
    values: Path | None = None,
    tensors: Mapping[str, str] | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    waves: None = None,
    timeline: Path | None = None,
    stages: Stages = quiet,
) -> Report:
    """See ``sw.runtime.session.run_once``.

    Tables and inputs are synthesised from what the model says, but for those that ``values`` has.
    ``options``: ``schedules``, a file, but for programs; ``batch``, the samples to synthesise;
    ``mapping``.
    ``timeline`` shows what each block of the grid does.

    Raises ``GnarlError`` for bad input of any kind.
    """
    given = dict(options or {})
    size, mapping = given.pop("batch", None), given.pop("mapping", "contiguous")
    timed = TimedStages(stages)
    device = CudaDevice(configuration, backend, stages=timed)
    path = model_source(source, tensors or {})
    program = _program(device, path, seed, given)
    compiled = decode(program)
    with timed("synthesise"):
        inputs = _inputs(compiled.model, values, size, seed)
    result = device.run(program, inputs.tables, inputs.batch, mapping)
    with timed("verify"):
        verification = verify(compiled.model, inputs.tables, inputs.batch, result.outputs)
    if timeline is not None:
        title = f"{program.workload} on {configuration.name}, {inputs.batch.size:,} samples"
        grid = map_batch(compiled, inputs.batch, mapping)
        draw_grid(compiled, inputs.batch, grid, title, timeline)
    return Report(
        config=configuration.name,
        target=configuration.target.name,
        workload=program.workload,
        backend=device.backend,
        digest=program.digest,
        overrides=configuration.overrides,
        cycles=None,
        counters=result.counters,
        ops=_operations(compiled.model, inputs.batch),
        utilisation=None,
        unit="",
        bit_exact=verification.bit_exact,
        difference=verification.difference,
        max_rel_error=verification.max_rel_error,
        statistics=_statistics(program, inputs.batch),
        outputs=_sums(compiled.model, result),
        seconds=timed.seconds,
        charts=_charts(compiled, inputs.batch, result),
        note="no GPU was used" if device.backend == "emulation" else "",
    )


def _program(device: CudaDevice, path: Path, seed: int, options: Mapping[str, Any]) -> Program:
    if not is_program(str(path)):
        return device.compile(path, seed=seed, **options)
    for name, value in options.items():
        raise WorkloadError(f"--{name} {value}: {path} has {name} of its own: must be left out")
    return Program.load(path, device.configuration.config)


def _inputs(model: EmbeddingModel, values: Path | None, size: int | None, seed: int) -> _Inputs:
    if values is None:
        size = DEFAULT_BATCH if size is None else size
        batch = synthesise_batch(model, size, seed)
        return _Inputs(synthesise_tables(model, seed), batch)
    found = load_values(values, model)
    if size is not None:
        raise WorkloadError(
            f"--batch {size}: {values} has {found.batch.size} samples: must be left out"
        )
    tables = synthesise_tables(model, seed)
    for number, table in found.tables.items():
        tables[number] = table
    return _Inputs(tables, found.batch)


def _operations(model: EmbeddingModel, batch: Batch) -> int:
    """Elements of tables that are pooled."""
    return sum(
        len(inputs.indices) * feature.dim
        for feature, inputs in zip(model.features, batch.features, strict=True)
    )


def _statistics(program: Program, batch: Batch) -> dict[str, int]:
    lookups = int(batch.counts.sum())
    return {**program.statistics, "batch": batch.size, "lookups": lookups}


def _sums(model: EmbeddingModel, result: EmbeddingResult) -> dict[str, float]:
    """Of each feature's outputs, in float64."""
    return {
        feature.name: float(output.sum(dtype=np.float64))
        for feature, output in zip(model.features, result.outputs, strict=True)
    }


def _charts(program: EmbeddingProgram, batch: Batch, result: EmbeddingResult) -> list[Chart]:
    schedules = program.schedules
    features: Counter[str] = Counter()
    lookups: Counter[str] = Counter()
    for number, inputs in enumerate(batch.features):
        name = schedules.schedule(number).template
        features[name] += 1
        lookups[name] += len(inputs.indices)
    names = sorted(features, key=lambda name: (-features[name], name))
    return [
        Chart("Features by template", [(n, features[n]) for n in names], len(batch.features)),
        Chart("Look-ups by template", [(n, lookups[n]) for n in names], sum(lookups.values())),
        Chart("Launch", list(result.counters.items()), 0),
    ]

"""Whether a GPU and the emulation give the same bits: each template with all types and poolings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from bench.cuda_parts.comparison import gpu_or_reason
from bench.cuda_parts.contenders import equal
from bench.cuda_parts.field import configuration_for
from bench.cuda_parts.protocol import counts, key_of, machine
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates import template, templates
from gnarl.sw.runtime.cuda.emulation.embedding import EmulatedEmbedding
from gnarl.sw.runtime.cuda.gpu.embedding import GpuEmbedding
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import (
    INDEX_TYPES,
    POOLINGS,
    TABLE_TYPES,
    EmbeddingModel,
    Feature,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS, quantise

BENCH = "cuda.bits"

SIZES = (61, 1, 300)
"""Samples of the batches."""

_ROWS = 500
_DIMS = (4, 7, 32, 128, 256)
_FACTORS = (PoolingFactors(12, 9, 50, 0.8), PoolingFactors(), PoolingFactors(200, 100, 400, 0.2))
_BLOCKS_PER_SM = 1

METRICS = {
    "kinds": Metric("", "none"),
    "elements": Metric("", "none"),
    "equal": Metric("", "higher"),
}
"""``kinds``: features, each of another kind. ``elements`` of the outputs that are compared."""
_HEADER = {"kinds": "kinds of features", "elements": "elements", "equal": "equal"}


@dataclass(frozen=True)
class Job:
    """A template with one pooling: all of them in one kernel would take minutes to compile."""

    template: str
    pooling: str
    gpu: GpuInfo
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"template": self.template, "pooling": self.pooling}

    def setting(self) -> Setting:
        return Setting.of(configuration_for(self.gpu), self.seed)

    def program(self) -> EmbeddingProgram:
        config = configuration_for(self.gpu).config
        assert isinstance(config, CudaConfig)
        return program_of(self.template, self.pooling, config)

    def __str__(self) -> str:
        return f"{self.template}, {self.pooling}"


def run(request: Request) -> tuple[list[Record], bool]:
    """Compares every template; whether all went well. Nothing where there is no GPU."""
    gpu = gpu_or_reason(request, BENCH)
    if gpu is None:
        return [], True
    known = [Job(*each, gpu, request.seed) for each in product(templates(), POOLINGS)]
    return measure_all(
        BENCH,
        measure,
        known[:1] if request.quick else known,
        METRICS,
        console=request.console,
        right=itemgetter("equal"),
        processes=min(4, os.cpu_count() or 1),
        also=machine(gpu),
        key=key,
        fresh=True,
        results=Results.begin(request.results, request.options["resume"], counts),
        deadline=request.options["deadline"],
    )


def key(job: Job) -> dict[str, str]:
    """What the figures of a job are known by."""
    return key_of(job.gpu, job.program())


def measure(job: Job) -> dict[str, Any]:
    """Values of ``METRICS``: tables are of any numbers, so that the order of additions shows."""
    program = job.program()
    model = program.model
    random = np.random.default_rng(job.seed)
    tables = [_table(feature, random) for feature in model.features]
    on_gpu, emulated = GpuEmbedding(program, tables), EmulatedEmbedding(program, tables)
    same, elements = True, 0
    for number, size in enumerate(SIZES):
        batch = synthesise_batch(model, size, job.seed, number)
        outputs = list(on_gpu.run(batch).outputs.values())
        same = same and equal(outputs, list(emulated.run(batch).outputs.values()))
        elements += sum(each.size for each in outputs)
    return {"kinds": len(model.features), "elements": elements, "equal": same}


def _table(feature: Feature, random: np.random.Generator) -> np.ndarray:
    numbers = random.normal(0, 3, (feature.rows, feature.dim))
    if feature.rowwise:
        return quantise(numbers, feature.table_type)
    return numbers.astype(feature.table_dtype)


def program_of(name: str, pooling: str, config: CudaConfig) -> EmbeddingProgram:
    """A feature of each table and output type, with weights and without, that the template pools;
    dimensions, index types and parameters by turns."""
    kind = template(name)
    features: list[Feature] = []
    schedules: list[Schedule] = []
    for variants in _features(pooling):
        for feature in variants:
            if candidates := list(kind.candidates(feature, config.plain_block_threads)):
                schedules.append(candidates[7 * len(features) % len(candidates)])
                features.append(feature)
                break
    model = EmbeddingModel(name, tuple(features))
    different = tuple(dict.fromkeys(schedules))
    return build_program(
        model,
        ScheduleSet(
            model=model.digest,
            arch=config.arch,
            block_threads=config.plain_block_threads,
            blocks_per_sm=_BLOCKS_PER_SM,
            schedules=different,
            of_feature=tuple(different.index(each) for each in schedules),
            origin="by turns",
        ),
    )


def _features(pooling: str) -> Iterator[list[Feature]]:
    """For each kind a feature of each dimension: which is first goes by turns."""
    weights = (False,) if pooling == "max" else (False, True)
    kinds = product((*TABLE_TYPES, *ROWWISE_FORMATS), TABLE_TYPES, weights)
    # Twice each: kinds with weights and without take turns, too.
    indices = [name for name in INDEX_TYPES for _ in range(2)]
    turns = zip(cycle(indices), cycle(_FACTORS), strict=False)
    for at, ((table, output, weighted), (index, factors)) in enumerate(
        zip(kinds, turns, strict=False)
    ):
        name = f"{pooling} of {table} to {output}{', weighted' * weighted}"
        first = at % len(_DIMS)
        dims = (*_DIMS[first:], *_DIMS[:first])
        if table in ROWWISE_FORMATS:  # which may hold two codes in a byte
            dims = tuple(dim + dim % 2 for dim in dims)
        yield [
            Feature(name, _ROWS, dim, pooling, table, output, index, weighted, factors)
            for dim in dims
        ]


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each template and pooling."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"Bits": Cells(["template", "pooling", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """How many templates and poolings give the same bits, of all."""
    same = sum(row["equal"] for row in rows(records).values())
    everything = len(templates()) * len(POOLINGS)
    return (
        f"templates and poolings with equal bits on the GPU and in the emulation: {same}, goal "
        f"{everything} {mark(same == everything)}"
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Elements that are compared, of each template and pooling."""
    table = rows(records)
    figure, (axes,) = subplots(1, (8, 4.2))
    names = list(dict.fromkeys(name for name, _ in table))
    bars(
        axes,
        {
            pooling: [table.get((name, pooling), {}).get("elements", 0) for name in names]
            for pooling in POOLINGS
        },
    )
    axes.set_xticks(range(len(names)), names, rotation=30)
    axes.legend(frameon=False, fontsize=8)
    axes.set(ylabel="elements compared")
    save(figure, path)

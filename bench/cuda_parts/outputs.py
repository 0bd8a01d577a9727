"""Whether a GPU pools whole models right, bit for bit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.cuda_parts.comparison import results_of, run_on_gpu
from bench.cuda_parts.contenders import equal
from bench.cuda_parts.field import config_for, configuration_for, our_schedules
from bench.cuda_parts.model_sources import ModelFolder
from bench.cuda_parts.models import models
from bench.cuda_parts.protocol import key_of, machine, newest
from bench.cuda_parts.stored_batches import StoredBatches
from bench.lib.jobs import Failure, require_time
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, records, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.golden import embedding as golden
from gnarl.sw.runtime.cuda.gpu.embedding import GpuEmbedding
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo
from gnarl.sw.workloads.embedding.data import synthesise_tables

BENCH = "cuda.outputs"

SAMPLES = (512, 34, 1)

_QUICK_SAMPLES = (8,)
_DIGITS = 12

METRICS = {
    "elements": Metric("", "none"),
    "hash": Metric("", "none"),
    "bit_exact": Metric("", "higher"),
}
"""``hash``: the first bits of the SHA-256 of what the GPU has pooled, by which outputs of two GPUs,
or kernels, can be compared. ``bit_exact``: whether it is the golden model's."""


@dataclass(frozen=True)
class Job:
    """A model with a batch of each size; ``stored``: as in ``Field``."""

    source: ModelFolder
    samples: tuple[int, ...]
    gpu: GpuInfo
    seed: int
    schedules: Path
    results: Results
    deadline: float | None
    stored: StoredBatches | None = None

    def __str__(self) -> str:
        return self.source.name


def run(request: Request) -> tuple[list[Record], bool]:
    """Runs every model; whether all outputs are right. Nothing where there is no GPU."""
    folders = models(request)
    options = request.options

    def jobs(results: Results, gpu: GpuInfo) -> list[Job]:
        return [
            Job(
                ModelFolder(path),
                samples(request.quick),
                gpu,
                request.seed,
                options["schedules"],
                results,
                options["deadline"],
            )
            for path in folders
        ]

    done = run_on_gpu(request, BENCH, measure, jobs)
    if done is None:
        return [], True
    failed = any(isinstance(each, Failure) for _, each in done)
    found = results_of(request)
    return found, not failed and all(row["bit_exact"] for row in rows(found).values())


def samples(quick: bool) -> tuple[int, ...]:
    """Sizes of the batches that are pooled."""
    return _QUICK_SAMPLES if quick else SAMPLES


def measure(job: Job) -> None:
    """Adds the job's records, size by size, to its results, but for those that are there.

    Raises ``TimeLimit`` when the deadline has passed.
    """
    model, config = job.source.load(), config_for(job.gpu)
    program = build_program(model, our_schedules(job.source.name, job.schedules, model, config))
    key = key_of(job.gpu, program)
    setting = Setting.of(configuration_for(job.gpu), job.seed)
    tables = synthesise_tables(model, job.seed)
    embedding = GpuEmbedding(program, tables)
    stored = job.stored or StoredBatches(Path())
    for number, size in enumerate(job.samples):
        labels = {"model": job.source.name, "samples": size}
        if job.results.has(BENCH, labels, setting, key):
            continue
        require_time(job.deadline)
        batch, _ = stored.load(model, size, job.seed, number)
        outputs = list(program.split(embedding.run(batch).outputs).values())
        values = {
            "elements": sum(each.size for each in outputs),
            "hash": hash_of(outputs),
            "bit_exact": equal(outputs, golden.embedding_bags(model, tables, batch)),
        }
        also = machine(job.gpu) | key
        job.results.add(records(BENCH, labels, values, METRICS, setting, also=also))


def hash_of(outputs: Sequence[np.ndarray]) -> int:
    """The first 48 bits of the SHA-256 of arrays."""
    digest = hashlib.sha256()
    for each in outputs:
        digest.update(np.ascontiguousarray(each).view(np.uint8).data)
    return int(digest.hexdigest()[:_DIGITS], 16)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model and size."""
    body = []
    for labels, row in rows(newest(measured, ("model",))).items():
        values = {**row, "hash": None}
        elements, _, exact = cells(values, (), METRICS)
        body.append([*map(str, labels), elements, f"{row['hash']:0{_DIGITS}x}", exact])
    header = ["model", "samples", "elements", "SHA-256", "bit-exact"]
    return {"Outputs of whole models": Cells(header, body, names=2)}


def verdict(measured: Sequence[Record]) -> str:
    """How many batches are right."""
    table = rows(newest(measured, ("model",)))
    exact = sum(row["bit_exact"] for row in table.values())
    return f"bit-exact: {exact} of {len(table)} batches of whole models"


def draw(measured: Sequence[Record], path: Path) -> None:
    """Elements that are compared, of each model."""
    table = rows(newest(measured, ("model",)))
    figure, (axes,) = subplots(1, (6, 4.2))
    names = list(dict.fromkeys(model for model, _ in table))
    totals = dict.fromkeys(names, 0)
    for (model, _), row in table.items():
        totals[model] += row["elements"]
    bars(axes, {"elements compared": list(totals.values())})
    axes.set_xticks(range(len(names)), names)
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)

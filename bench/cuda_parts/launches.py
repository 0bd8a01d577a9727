"""What a launch costs, and what each further byte adds: batches of few samples to many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.cuda_parts.comparison import results_of, run_on_gpu
from bench.cuda_parts.contenders import Fused
from bench.cuda_parts.field import Field, configuration_for, our_schedules
from bench.cuda_parts.goals import most_line
from bench.cuda_parts.model_sources import ModelFolder
from bench.cuda_parts.models import models
from bench.cuda_parts.protocol import key_of, machine, newest
from bench.cuda_parts.stored_batches import StoredBatches
from bench.cuda_parts.traffic import Traffic
from bench.lib.jobs import Failure, require_time
from bench.lib.plots import save, subplots
from bench.lib.records import Metric, Record, Setting, records, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo
from gnarl.sw.workloads.embedding.model import Batch

BENCH = "cuda.launches"

SAMPLES = (1, 8, 32, 128, 512, 2048)
GOAL_FIXED_US = 6.0
GOAL_SLOPE = 1.1

_BATCHES = 4
_QUICK_SAMPLES, _QUICK_BATCHES = (1, 8), 1

METRICS = {
    "bound_us": Metric("µs", "none"),
    "memory_bound_us": Metric("µs", "none"),
    "cold_us": Metric("µs", "lower"),
    "code_warm_us": Metric("µs", "lower"),
    "all_warm_us": Metric("µs", "lower"),
    "clock_mhz": Metric("MHz", "none"),
}
"""Medians of a model's batches of so many samples. ``bound_us``: ``Limits.bound_ms``;
``memory_bound_us``: without the part of it that the L2 cache sets. ``cold_us``: with caches
emptied; ``code_warm_us``: emptied, then the kernel pools one other sample before it is timed;
``all_warm_us``: after it has pooled the same batch. ``clock_mhz``: behind them."""
_HEADER = {
    "bound_us": "bound, µs",
    "memory_bound_us": "of memory alone, µs",
    "cold_us": "cold, µs",
    "code_warm_us": "code warm, µs",
    "all_warm_us": "all warm, µs",
    "clock_mhz": "clock, MHz",
}
_TIMES = ("cold_us", "code_warm_us", "all_warm_us")
_ALIKE = ("model", "schedules")
"""Labels of the records that a line goes through."""


@dataclass(frozen=True)
class Job:
    """A model with batches of each size, and where its records go; ``stored``: as in ``Field``."""

    source: ModelFolder
    samples: tuple[int, ...]
    batches: int
    seed: int
    schedules: Path
    results: Results
    deadline: float | None
    stored: StoredBatches | None = None

    def batch_sizes(self) -> list[int]:
        """Samples of each batch; the last is that of ``code_warm_us``."""
        return [*(size for size in self.samples for _ in range(self.batches)), 1]

    def __str__(self) -> str:
        return self.source.name


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every model; whether all went well. Nothing where there is no GPU."""
    folders = models(request)
    options = request.options

    def jobs(results: Results, gpu: GpuInfo) -> list[Job]:
        return [
            Job(
                ModelFolder(path),
                *amount(request.quick),
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
    return results_of(request), not any(isinstance(each, Failure) for _, each in done)


def amount(quick: bool) -> tuple[tuple[int, ...], int]:
    """Sizes of batches, and how many there are of each."""
    return (_QUICK_SAMPLES, _QUICK_BATCHES) if quick else (SAMPLES, _BATCHES)


def measure(job: Job) -> None:
    """Adds the job's records, size by size, to its results, but for those that are there.

    Raises ``TimeLimit`` when the deadline has passed.
    """
    model = job.source.load()
    field = Field(model, job.batch_sizes(), job.seed, stored=job.stored)
    chosen = our_schedules(job.source.name, job.schedules, model, field.config)
    setting = Setting.of(configuration_for(field.gpu), job.seed, job.batches)
    key = key_of(field.gpu, build_program(model, chosen))
    also = machine(field.gpu) | key
    fused = field.fused(chosen)
    *timed, (other, _) = field.batches
    fused.outputs(other)
    for size, batches in groupby(timed, lambda each: each[0].size):
        labels = {"model": job.source.name, "schedules": chosen.origin, "samples": size}
        if job.results.has(BENCH, labels, setting, key):
            continue
        require_time(job.deadline)
        values = _values(field, fused, list(batches), other)
        job.results.add(records(BENCH, labels, values, METRICS, setting, also=also))


def _values(
    field: Field, fused: Fused, batches: Sequence[tuple[Batch, Traffic]], other: Batch
) -> dict[str, Any]:
    """Values of ``METRICS``."""
    limits = field.limits

    def of(time_ms: Callable[[Batch, Traffic], float]) -> float:
        return 1e3 * median(time_ms(*each) for each in batches)

    return {
        "bound_us": of(lambda _, moved: limits.bound_ms(moved)),
        "memory_bound_us": of(lambda _, moved: limits.empty_ms + 1e3 * moved.least / limits.memory),
        "cold_us": of(lambda batch, _: fused.time(batch)),
        "code_warm_us": of(lambda batch, _: fused.time(batch, after=other)),
        "all_warm_us": of(lambda batch, _: fused.time(batch, after=batch)),
        "clock_mhz": field.clock_mhz(),
    }


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model and size; and the lines through each model's times."""
    measured = newest(measured, _ALIKE)
    body = [cells(row, labels, _HEADER) for labels, row in rows(measured).items()]
    header = ["model", "schedules", "samples", *_HEADER.values()]
    lines = [
        [*labels, *(f"{fixed:.1f} + {slope:.2f} × bound" for fixed, slope in fits.values())]
        for labels, fits in _lines(measured).items()
    ]
    names = ["model", "schedules", *(_HEADER[each] for each in _TIMES)]
    return {"Times": Cells(header, body, names=2), "Lines": Cells(names, lines, names=2)}


def _lines(measured: Sequence[Record]) -> dict[tuple[str, str], dict[str, tuple[float, float]]]:
    """For each model with its schedules and each of ``_TIMES``: microseconds where the bound is 0,
    and by how much times grow with the bound, of the line with the least relative errors."""
    return {
        labels: {name: _line(list(by_samples.values()), name) for name in _TIMES}
        for labels, by_samples in _by_schedules(measured).items()
        if len(by_samples) > 1
    }


def _by_schedules(measured: Sequence[Record]) -> dict[tuple[str, str], dict[int, dict[str, Any]]]:
    """The rows of each number of samples, by model and schedules."""
    by: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for (model, schedules, samples), row in rows(measured).items():
        by.setdefault((model, schedules), {})[samples] = row
    return by


def _line(several: Sequence[dict[str, Any]], name: str) -> tuple[float, float]:
    bounds = np.array([row["bound_us"] for row in several])
    times = np.array([row[name] for row in several])
    slope, fixed = np.polyfit(bounds, times, 1, w=1 / times)
    return float(fixed), float(slope)


def verdict(measured: Sequence[Record]) -> str:
    """The longest time of one sample and the steepest line, both with cold caches."""
    measured = newest(measured, _ALIKE)
    one = [row["cold_us"] for (_, _, samples), row in rows(measured).items() if samples == 1]
    slopes = [fits["cold_us"][1] for fits in _lines(measured).values()]
    return "\n".join(
        [
            most_line("one sample, longest", max(one, default=None), GOAL_FIXED_US, "µs"),
            most_line(
                "growth with the bound, steepest", max(slopes, default=None), GOAL_SLOPE, "×"
            ),
        ]
    )


def draw(measured: Sequence[Record], path: Path) -> None:
    """Times by samples, for each model with its schedules, and the bound."""
    by = _by_schedules(newest(measured, _ALIKE))
    figure, panels = subplots(len(by), (4 * len(by), 4.2))
    for axes, ((model, schedules), by_samples) in zip(panels, by.items(), strict=True):
        for metric in ("bound_us", *_TIMES):
            times = [row[metric] for row in by_samples.values()]
            axes.plot(list(by_samples), times, marker="o", label=_HEADER[metric])
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(f"{model}, {schedules.partition(' of ')[0]}", loc="left", fontsize=11)
        axes.set(xlabel="samples")
    panels[0].legend(frameon=False, fontsize=8)
    save(figure, path)

"""How equally a batch's bytes are shared among multiprocessors, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from bench.cuda_parts.goals import most_line
from bench.cuda_parts.models import models
from bench.cuda_schedule_parts.costs import Counts
from bench.cuda_schedule_parts.designs import CONFIG, schedules_of, with_blocks, with_plan
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda_schedule.balance"

GOALS = {1: 1.7, 34: 1.25, 512: 1.1}
"""The most that the fullest multiprocessor's bytes may be over the mean, by samples."""

_BATCHES = 8
_QUICK_BATCHES = 1
_METRICS = {
    "tasks_before": Metric("", "none"),
    "tasks": Metric("", "none"),
    "imbalance_before": Metric("", "lower"),
    "imbalance": Metric("", "lower"),
    "before_us": Metric("µs", "lower"),
    "us": Metric("µs", "lower"),
}
"""Means over batches; ``before``: of the design with blocks."""
_HEADER = {
    "tasks_before": "blocks",
    "tasks": "tasks",
    "imbalance_before": "bytes, before",
    "imbalance": "bytes, after",
    "before_us": "µs, before",
    "us": "µs, after",
}


@dataclass(frozen=True)
class Job:
    """A model with batches of so many samples."""

    path: Path
    samples: int
    batches: int
    seed: int

    @property
    def labels(self) -> dict[str, str | int]:
        return {"model": self.path.stem, "samples": self.samples}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed, self.batches)

    def __str__(self) -> str:
        return f"{self.path.stem}, {self.samples} samples"


def run(request: Request) -> tuple[list[Record], bool]:
    """Models both designs for every model and size."""
    batches = _QUICK_BATCHES if request.quick else _BATCHES
    sizes = list(GOALS)[:2] if request.quick else list(GOALS)
    jobs = [
        Job(path, samples, batches, request.seed) for path in models(request) for samples in sizes
    ]
    return measure_all(BENCH, measure, jobs, _METRICS, console=request.console)


def measure(job: Job) -> dict[str, float]:
    """Values of ``_METRICS``."""
    model = load_model(job.path)
    schedules = schedules_of(model)
    program = build_program(model, schedules_of(model, "warps"))
    before, after = [], []
    for number in range(job.batches):
        batch = synthesise_batch(model, job.samples, job.seed, number)
        before.append(with_blocks(model, schedules, batch))
        after.append(with_plan(program, batch, Counts()))
    return {
        "tasks_before": before[0].tasks,
        "tasks": after[0].tasks,
        "imbalance_before": fmean(each.imbalance for each in before),
        "imbalance": fmean(each.imbalance for each in after),
        "before_us": fmean(each.us for each in before),
        "us": fmean(each.us for each in after),
    }


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model and number of samples."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"Balance": Cells(["model", "samples", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """The worst model, at each size that was modelled."""
    lines = []
    for samples, goal in GOALS.items():
        own = [row for labels, row in rows(records).items() if labels[1] == samples]
        if own:
            what = f"bytes of the fullest multiprocessor, {samples} samples, most"
            lines.append(most_line(what, max(row["imbalance"] for row in own), goal, "x the mean"))
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Bytes of the fullest multiprocessor over the mean."""
    table = rows(records)
    figure, (axes,) = subplots(1, (9, 4.2))
    bars(
        axes,
        {
            when: [row[metric] for row in table.values()]
            for when, metric in (("before", "imbalance_before"), ("after", "imbalance"))
        },
    )
    names = [f"{model}\n{samples}" for model, samples in table]
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="bytes of the fullest multiprocessor over the mean", yscale="log")
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)

"""Time over the paper's batches, before and after, beside the bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cuda_parts.goals import goal_line
from bench.cuda_parts.models import models
from bench.cuda_parts.traffic import traffic
from bench.cuda_schedule_parts.costs import Counts
from bench.cuda_schedule_parts.designs import CONFIG, schedules_of, with_blocks, with_plan
from bench.cuda_schedule_parts.device import bound_us, memory_bound_us
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.data import batch_sizes, synthesise_batch
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda_schedule.times"

BATCHES = 128
GOAL_OF_BOUND = 0.8

_QUICK_BATCHES = 2
_OF_SIZE = 2
"""Batches of a size that stand for all of that size."""
_METRICS = {
    "bound_us": Metric("µs", "none"),
    "memory_bound_us": Metric("µs", "none"),
    "before_us": Metric("µs", "lower"),
    "us": Metric("µs", "lower"),
    "of_bound_before": Metric("", "higher"),
    "of_bound": Metric("", "higher"),
    "of_memory_before": Metric("", "higher"),
    "of_memory": Metric("", "higher"),
}
"""Of all batches together. ``of_bound``, ``of_memory``: the bound, and the one of memory alone,
over the time; ``before``: of the design with blocks."""
_HEADER = {
    "bound_us": "bound, ms",
    "memory_bound_us": "of memory alone, ms",
    "before_us": "before, ms",
    "us": "after, ms",
}
_SHARES = {
    "of_bound": "of the bound, %",
    "of_memory": "of memory's, %",
}


@dataclass(frozen=True)
class Job:
    """A model with the paper's batches."""

    path: Path
    batches: int
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"model": self.path.stem}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed, self.batches)

    def __str__(self) -> str:
        return f"{self.path.stem}, {self.batches} batches"


def run(request: Request) -> tuple[list[Record], bool]:
    """Models both designs for every model."""
    batches = _QUICK_BATCHES if request.quick else BATCHES
    jobs = [Job(path, batches, request.seed) for path in models(request)]
    return measure_all(BENCH, measure, jobs, _METRICS, console=request.console)


def measure(job: Job) -> dict[str, float]:
    """Values of ``_METRICS``."""
    model = load_model(job.path)
    schedules = schedules_of(model)
    program = build_program(model, schedules_of(model, "warps"))
    bound = memory_bound = before = after = 0.0
    sizes = Counter(batch_sizes(job.batches, job.seed))
    for size, count in sizes.items():
        modelled = min(count, _OF_SIZE)
        for number in range(modelled):
            batch = synthesise_batch(model, size, job.seed, number)
            moved = traffic(model, batch)
            many = count / modelled
            bound += many * bound_us(moved)
            memory_bound += many * memory_bound_us(moved)
            before += many * with_blocks(model, schedules, batch).us
            after += many * with_plan(program, batch, Counts()).us
    return {
        "bound_us": bound,
        "memory_bound_us": memory_bound,
        "before_us": before,
        "us": after,
        "of_bound_before": bound / before,
        "of_bound": bound / after,
        "of_memory_before": memory_bound / before,
        "of_memory": memory_bound / after,
    }


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model."""
    body = []
    for labels, row in rows(records).items():
        milliseconds = {metric: 1e-3 * row[metric] for metric in _HEADER}
        shares = [f"{100 * row[f'{each}_before']:.1f} → {100 * row[each]:.1f}" for each in _SHARES]
        body.append([*cells(milliseconds, labels, _HEADER), *shares])
    return {"Times": Cells(["model", *_HEADER.values(), *_SHARES.values()], body)}


def verdict(records: Sequence[Record]) -> str:
    """The model that is furthest from its bound."""
    table = rows(records).values()
    least = min(row["of_bound"] for row in table)
    lines = [goal_line("of the bound, least", least, goal=GOAL_OF_BOUND, percent=True)]
    least = min(row["of_memory"] for row in table)
    lines.append(goal_line("of the bound of memory alone, least", least, percent=True))
    faster = [row["before_us"] / row["us"] for row in table]
    lines.append(f"over the design with blocks: {min(faster):.2f} to {max(faster):.2f} times")
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Shares of the bound."""
    table = rows(records)
    figure, (axes,) = subplots(1, (8, 4.2))
    bars(
        axes,
        {
            when: [100 * row[metric] for row in table.values()]
            for when, metric in (("before", "of_bound_before"), ("after", "of_bound"))
        },
    )
    axes.set_xticks(range(len(table)), [labels[0] for labels in table])
    axes.set(ylabel="of the bound, %")
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)

"""The plan as it is made, without tuning, against plans at random."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.cuda_parts.goals import most_line
from bench.cuda_parts.models import models
from bench.cuda_schedule_parts import plan
from bench.cuda_schedule_parts.costs import Counts
from bench.cuda_schedule_parts.designs import CONFIG, with_warps
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda_schedule.untuned"

PLANS = 200
GOAL = 1.03
"""The most that the plan as made may take, over the best at random."""

_QUICK_PLANS = 3
SAMPLES = 34
_TASK_BYTES = (1024, 2048, 4096, 8192, 16384, 32768)
_COMMON = (0.1, 0.25, 0.5)
_RUNS = (1, 4, 8, 16, 32)
_SHIFTS = (-1, 0, 1)
_METRICS = {
    "plans": Metric("", "none"),
    "us": Metric("µs", "lower"),
    "best_us": Metric("µs", "lower"),
    "median_us": Metric("µs", "none"),
    "over_best": Metric("", "lower"),
}
"""Of one batch. ``us``: of the plan as made; ``best_us``, ``median_us``: of
those at random."""
_HEADER = {
    "plans": "at random",
    "us": "as made, µs",
    "best_us": "best at random, µs",
    "median_us": "median, µs",
    "over_best": "over the best",
}


@dataclass(frozen=True)
class Job:
    """A model with so many plans at random."""

    path: Path
    plans: int
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"model": self.path.stem}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return f"{self.path.stem}, {self.plans} plans"


def run(request: Request) -> tuple[list[Record], bool]:
    """Models every plan of every model."""
    plans = _QUICK_PLANS if request.quick else PLANS
    jobs = [Job(path, plans, request.seed) for path in models(request)]
    return measure_all(BENCH, measure, jobs, _METRICS, console=request.console)


def measure(job: Job) -> dict[str, float]:
    """Values of ``_METRICS``."""
    model = load_model(job.path)
    batch = synthesise_batch(model, SAMPLES, job.seed)
    made = with_warps(model, plan.make_plan(model, SAMPLES), batch, Counts()).us
    times = sorted(
        _random_us(model, batch, random.Random(job.seed * PLANS + number))
        for number in range(job.plans)
    )
    return {
        "plans": job.plans,
        "us": made,
        "best_us": times[0],
        "median_us": times[len(times) // 2],
        "over_best": made / times[0],
    }


def _random_us(model: EmbeddingModel, batch: Batch, chance: random.Random) -> float:
    """Of a plan at random."""
    shape = _Shape.of(model, chance)
    made = shape.plan(model, batch.size)
    dealt = plan.deal(int(plan.count_tasks(made).sum()), common=shape.common, run=shape.run)
    return with_warps(model, made, batch, Counts(), dealt).us


@dataclass(frozen=True)
class _Shape:
    """What is at random: bytes of a task, and how tasks are dealt; for features that are alike the
    step from the samples and parts that follow, and rows side by side."""

    task_bytes: int
    common: float
    run: int
    of_feature: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, model: EmbeddingModel, chance: random.Random) -> _Shape:
        chosen: dict[Hashable, tuple[int, int]] = {}
        for feature in model.features:
            key = (feature.kind, feature.factors)
            if key not in chosen:
                chosen[key] = (chance.choice(_SHIFTS), chance.choice(_SHIFTS))
        return cls(
            chance.choice(_TASK_BYTES),
            chance.choice(_COMMON),
            chance.choice(_RUNS),
            tuple(chosen[feature.kind, feature.factors] for feature in model.features),
        )

    def plan(self, model: EmbeddingModel, batch: int) -> plan.Plan:
        made = plan.make_plan(model, batch, self.task_bytes)
        cuts, places = [], []
        for cut, place, (step, shift) in zip(made.cuts, made.places, self.of_feature, strict=True):
            samples, parts = _stepped(cut, step, batch)
            scale = samples / cut.samples * cut.parts / parts
            cuts.append(plan.Cut(samples, parts, cut.bytes * scale))
            room = WARP_THREADS // place.lanes
            side = min(room, max(1, int(place.rows * 2.0**shift)))
            places.append(replace(place, rows=side, bags=room // side))
        order = sorted(range(len(cuts)), key=lambda number: (-cuts[number].bytes, number))
        return replace(made, cuts=tuple(cuts), places=tuple(places), order=tuple(order))


def _stepped(cut: plan.Cut, step: int, batch: int) -> tuple[int, int]:
    """Twice or half as much in a task."""
    if step > 0:
        return (cut.samples, cut.parts // 2) if cut.parts > 1 else (min(2 * cut.samples, batch), 1)
    if step < 0:
        return (cut.samples // 2, 1) if cut.samples > 1 else (1, 2 * cut.parts)
    return cut.samples, cut.parts


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"Untuned": Cells(["model", *_HEADER.values()], body)}


def verdict(records: Sequence[Record]) -> str:
    """The model whose plan is furthest from the best."""
    most = max(row["over_best"] for row in rows(records).values())
    return most_line("plan as made over the best at random, most", most, GOAL, "x")


def draw(records: Sequence[Record], path: Path) -> None:
    """Times over that of the best at random."""
    table = rows(records)
    figure, (axes,) = subplots(1, (7, 4.2))
    bars(
        axes,
        {
            what: [row[metric] / row["best_us"] for row in table.values()]
            for what, metric in (("as made", "us"), ("median at random", "median_us"))
        },
    )
    line_at(axes, GOAL)
    axes.set_xticks(range(len(table)), [labels[0] for labels in table])
    axes.set(ylabel="time over the best at random")
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)

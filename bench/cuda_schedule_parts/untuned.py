"""The plan as it is made, without tuning, against plans at random."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.cuda_parts.goals import most_line
from bench.cuda_parts.models import models
from bench.cuda_schedule_parts.costs import Counts
from bench.cuda_schedule_parts.designs import CONFIG, schedules_of, with_plan
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.feature_groups import feature_candidates
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import EmbeddingModel
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda_schedule.untuned"

PLANS = 200
GOAL = 1.03
"""The most that the plan as made may take, over the best at random."""

_QUICK_PLANS = 3
SAMPLES = 34
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
    chosen = schedules_of(model, "warps")
    batch = synthesise_batch(model, SAMPLES, job.seed)
    made = with_plan(build_program(model, chosen), batch, Counts()).us
    times = []
    for number in range(job.plans):
        chance = random.Random(job.seed * PLANS + number)
        program = build_program(model, _at_random(model, chosen, chance))
        times.append(with_plan(program, batch, Counts()).us)
    times.sort()
    return {
        "plans": job.plans,
        "us": made,
        "best_us": times[0],
        "median_us": times[len(times) // 2],
        "over_best": made / times[0],
    }


def _at_random(model: EmbeddingModel, like: ScheduleSet, chance: random.Random) -> ScheduleSet:
    """Schedules at random for features that are alike."""
    chosen: dict[Hashable, Schedule] = {}
    for feature in model.features:
        key = (feature.kind, feature.factors)
        if key not in chosen:
            candidates = feature_candidates(feature, like.block_threads, "warps")
            chosen[key] = chance.choice(candidates)
    schedules = tuple(dict.fromkeys(chosen.values()))
    of_feature = [schedules.index(chosen[each.kind, each.factors]) for each in model.features]
    return replace(like, schedules=schedules, of_feature=tuple(of_feature), origin="at random")


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

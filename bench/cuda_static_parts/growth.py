"""How the time to compile grows with the number of codes: schedules that tuning might find."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.cuda_parts.models import models
from bench.cuda_static_parts.kernels import COMPILE_S
from bench.cuda_static_parts.measure import METRICS, build, compiler
from bench.lib.measurements import measure_all
from bench.lib.plots import line_at, save, subplots
from bench.lib.records import Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.feature_groups import feature_candidates
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.model import EmbeddingModel
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda_static.growth"

CONFIG = "cuda_sm90"
CODES = (25, 50, 100, 200)
BLOCKS_PER_SM = 6
WORKERS = "blocks"
"""Of their schedules each is a code of its own; those of warps share few codes."""

_QUICK = (2, 4)
_HEADER = {
    "generate_s": "generate, s",
    "compile_s": "compile, s",
    "source_bytes": "source, bytes",
    "registers": "registers",
    "spill_bytes": "spilled, bytes",
}


@dataclass(frozen=True)
class Job:
    """So many codes of a model's features."""

    path: Path
    codes: int
    seed: int

    @property
    def labels(self) -> dict[str, str | int]:
        return {"model": self.path.stem, "codes": self.codes}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return f"{self.path.stem}, {self.codes} codes"


def run(request: Request) -> tuple[list[Record], bool]:
    """Compiles kernels of more and more codes of the first model that is there."""
    path = models(request)[0]
    jobs = [Job(path, codes, request.seed) for codes in (_QUICK if request.quick else CODES)]
    return measure_all(
        BENCH, measure, jobs, METRICS, console=request.console, also=compiler(), fresh=True
    )


def measure(job: Job) -> dict[str, float]:
    """Values of ``METRICS``."""
    config = load_configuration(CONFIG).config
    assert isinstance(config, CudaConfig)
    return build(*random_schedules(load_model(job.path), config, job.codes, job.seed))


def random_schedules(
    model: EmbeddingModel, config: CudaConfig, codes: int, seed: int
) -> tuple[EmbeddingModel, ScheduleSet]:
    """Features of the model's kinds, each with a schedule at random of all that can compute it, no
    two with the same kind and schedule; fewer than ``codes`` if there are no more."""
    of_kind = {feature.kind: feature for feature in model.features}
    pairs = [
        (feature, schedule)
        for feature in of_kind.values()
        for schedule in feature_candidates(feature, config.plain_block_threads, WORKERS)
    ]
    chosen = random.Random(seed).sample(pairs, min(codes, len(pairs)))
    features = tuple(replace(feature, name=f"f{at}") for at, (feature, _) in enumerate(chosen))
    chosen_model = EmbeddingModel(model.name, features)
    schedules = tuple(dict.fromkeys(schedule for _, schedule in chosen))
    return chosen_model, ScheduleSet(
        model=chosen_model.digest,
        arch=config.arch,
        block_threads=config.plain_block_threads,
        blocks_per_sm=BLOCKS_PER_SM,
        schedules=schedules,
        of_feature=tuple(schedules.index(schedule) for _, schedule in chosen),
        origin="at random",
    )


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each number of codes."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"Growth": Cells(["model", "codes", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """How time grows, and where that passes the limit; of few points only the last."""
    codes, seconds = _points(records)
    if len(codes) < len(CODES):
        return f"{codes[-1]} codes compiled in {seconds[-1]:.3g} s"
    power, scale = np.polyfit(np.log(codes), np.log(seconds), 1)
    most = np.exp((np.log(COMPILE_S) - scale) / power)
    return (
        f"seconds to compile grow as codes^{power:.2f}: "
        f"{COMPILE_S:g} s are enough for about {most:.0f} codes"
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Seconds to compile over codes."""
    codes, seconds = _points(records)
    figure, (axes,) = subplots(1, (6, 4.2))
    axes.plot(codes, seconds, marker="o")
    line_at(axes, COMPILE_S)
    axes.set(xlabel="codes", ylabel="seconds to compile, nothing cached", ylim=(0, None))
    save(figure, path)


def _points(records: Sequence[Record]) -> tuple[list[float], list[float]]:
    table = rows(records)
    return [row["codes"] for row in table.values()], [row["compile_s"] for row in table.values()]

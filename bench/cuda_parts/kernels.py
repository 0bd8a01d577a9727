"""Time of fused kernels on a GPU, against other schedules, other projects and the GPU's bound.

Source of what is compared: RecFlex, VI-B (figure 9, table II), VI-D (figures 11 and 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.cuda_parts.comparison import Comparison, run_comparison
from bench.cuda_parts.goals import goal_line
from bench.cuda_parts.measure import (
    AVERAGE,
    BEST_UNIFORM,
    MAXIMUM,
    ON_DEVICE,
    OURS,
    QUICKLY_TUNED,
    SEPARATE,
    TORCH,
    TORCHREC,
    UNIFORM,
    VARYING,
    Job,
)
from bench.cuda_parts.model_sources import ModelFolder
from bench.cuda_parts.models import models
from bench.lib.plots import save, subplots
from bench.lib.records import Record
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import mark
from bench.lib.tables import Cells
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo
from gnarl.sw.workloads.embedding.model import MAXIMUM_BATCH

BENCH = "cuda.kernels"

LONG_TAIL = "2560"
"""Samples of a request that was not split (RecFlex, VI-D)."""
SIZES = (VARYING, "256", "2048", LONG_TAIL)
SAMPLES = range(1, MAXIMUM_BATCH + 1)
"""Samples of batches of one size."""

GOAL_UNIFORM = 3.0
PAPER_TORCHREC = 2.64
GOAL_OF_BOUND = 0.8
PAPER_OF_BANDWIDTH = 0.656
PAPER_SEPARATE = 4.82
PAPER_STATIC = {AVERAGE: 1.41, MAXIMUM: 1.5}
"""At most, of the models."""
PAPER_LONG_TAIL = {AVERAGE: 1.505, MAXIMUM: 1.404}
GOAL_MAPPING = 0.05

_QUICK_BATCHES = 4
_FEWEST = 4

_KERNELS = (OURS, UNIFORM, BEST_UNIFORM, TORCHREC, TORCH)
_STRATEGIES = (OURS, SEPARATE, QUICKLY_TUNED, AVERAGE, MAXIMUM)
CONTENDERS = (UNIFORM, ON_DEVICE, AVERAGE, MAXIMUM, SEPARATE, TORCHREC, TORCH, BEST_UNIFORM)


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every model with batches of all sizes; whether all went well."""
    batches = _QUICK_BATCHES if request.quick else request.options["batches"]
    folders = models(request)
    options = request.options

    def jobs(results: Results, gpu: GpuInfo) -> list[Job]:
        return [
            Job(
                BENCH,
                ModelFolder(path),
                sizes,
                _batches(sizes, batches),
                request.seed,
                options["schedules"],
                CONTENDERS,
                results,
                options["deadline"],
            )
            for sizes in options["batch_sizes"]
            for path in folders
        ]

    return run_comparison(request, BENCH, jobs)


def _batches(sizes: str, varying: int) -> int:
    """How many batches are timed: fewer of one size, as their times differ less."""
    return varying if sizes == VARYING else max(min(_FEWEST, varying), 64 * varying // int(sizes))


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """Kernels against each other, and strategies of tuning and mapping."""
    comparison = Comparison.of(records, BENCH)
    return {
        "Kernels": comparison.table(_KERNELS),
        "Tuning and thread mapping": comparison.table(_STRATEGIES),
        "Models": comparison.model_table(),
    }


def verdict(records: Sequence[Record]) -> str:
    """The figures that have goals, in a line each."""
    comparison = Comparison.of(records, BENCH)
    ours = {key[:2]: row for key, row in comparison.kernels.items() if key[2] == OURS}
    multi_hot = [key[:2] for key, row in comparison.models.items() if row["multi_hot_share"] >= 0.5]
    least = min((ours[key]["of_bound"] for key in multi_hot if key in ours), default=None)
    lines = [
        comparison.bit_exact(),
        goal_line(
            f"over {UNIFORM}, geometric mean",
            comparison.mean(UNIFORM, VARYING),
            paper=PAPER_TORCHREC,
            goal=GOAL_UNIFORM,
        ),
        goal_line(
            f"over {TORCHREC}, geometric mean",
            comparison.mean(TORCHREC, VARYING),
            goal=PAPER_TORCHREC,
        ),
        goal_line(f"over {TORCH}, geometric mean", comparison.mean(TORCH, VARYING)),
        goal_line(
            "of the bound, least of the multi-hot models",
            least,
            paper=PAPER_OF_BANDWIDTH,
            goal=GOAL_OF_BOUND,
            percent=True,
        ),
        goal_line(
            f"over {SEPARATE}, geometric mean",
            comparison.mean(SEPARATE, VARYING),
            paper=PAPER_SEPARATE,
            goal=1.0,
        ),
    ]
    for kernel, paper in PAPER_STATIC.items():
        most = max(comparison.speedups(kernel, VARYING), default=None)
        lines.append(goal_line(f"over {kernel}, most", most, goal=paper))
    for kernel, paper in PAPER_LONG_TAIL.items():
        mean = comparison.mean(kernel, LONG_TAIL)
        what = f"over {kernel}, batches of {LONG_TAIL}, geometric mean"
        lines.append(goal_line(what, mean, goal=paper))
    return "\n".join([*lines, *_mapping([row["mapping_share"] or 0.0 for row in ours.values()])])


def _mapping(shares: Sequence[float]) -> list[str]:
    if not shares:
        return []
    most = max(shares)
    hidden = "" if most > 1 else "; below 100 % it is hidden behind the kernel before"
    return [
        f"thread mapping over the kernel's time, most: {100 * most:.1f} %, goal "
        f"{100 * GOAL_MAPPING:.0f} % {mark(most <= GOAL_MAPPING)}{hidden}"
    ]


def draw(records: Sequence[Record], path: Path) -> None:
    """Times as multiples of this project's, and its share of the bound, with varying batches."""
    comparison = Comparison.of(records, BENCH)
    figure, panels = subplots(3, (15, 4.2))
    for axes, kernels, metric, title in zip(
        panels,
        (_KERNELS, _STRATEGIES, (OURS,)),
        ("speedup", "speedup", "of_bound"),
        ("time over this project's: kernels", "tuning and thread mapping", "share of the bound"),
        strict=True,
    ):
        comparison.draw(axes, kernels, metric)
        axes.set_title(title, loc="left", fontsize=11)
    for axes in panels[:2]:
        axes.set_yscale("log")
    save(figure, path)

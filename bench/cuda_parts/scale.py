"""Many features, and few large tables: RecFlex, VI-B."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.cuda_parts.comparison import Comparison, run_comparison
from bench.cuda_parts.goals import goal_line
from bench.cuda_parts.measure import OURS, TORCH, TORCHREC, UNIFORM, VARYING, Job
from bench.cuda_parts.model_sources import ManyFeatures, Mlperf, ModelSource
from bench.cuda_parts.models import models
from bench.lib.plots import save, subplots
from bench.lib.records import Record
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.tables import Cells
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo

BENCH = "cuda.scale"

FEATURES = 10_000
MLPERF_BYTES = 8 << 30
"""Bytes of its tables at most, and an eighth of the GPU's memory: far more than caches hold,
instead of 105 GB."""
PAPER = {f"{FEATURES}_features": 4.2, "mlperf": 1.0}

_QUICK_FEATURES, _QUICK_BYTES, _QUICK_BATCHES = 20, 1 << 20, 1
_FEWER = 8
"""Batches are so many times fewer than of other models, for these take as much memory more."""
_KERNELS = (OURS, UNIFORM, TORCHREC, TORCH)


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures both; whether all went well. The features are those of the first model."""
    base, options = models(request)[0], request.options
    features, most = amount(request.quick)
    batches = _QUICK_BATCHES if request.quick else max(1, options["batches"] // _FEWER)

    def jobs(results: Results, gpu: GpuInfo) -> list[Job]:
        sources: tuple[ModelSource, ...] = (
            ManyFeatures(base, features),
            Mlperf(min(most, gpu.memory // 8)),
        )
        return [
            Job(
                BENCH,
                source,
                VARYING,
                batches,
                request.seed,
                options["schedules"],
                _KERNELS[1:],
                results,
                options["deadline"],
            )
            for source in sources
        ]

    return run_comparison(request, BENCH, jobs)


def amount(quick: bool) -> tuple[int, int]:
    """Features of the one model, bytes of the other's tables."""
    return (_QUICK_FEATURES, _QUICK_BYTES) if quick else (FEATURES, MLPERF_BYTES)


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """Kernels against each other."""
    comparison = Comparison.of(records, BENCH)
    return {"Kernels": comparison.table(_KERNELS), "Models": comparison.model_table()}


def verdict(records: Sequence[Record]) -> str:
    """Speedups over TorchRec, or over its schedule."""
    comparison = Comparison.of(records, BENCH)
    lines = [comparison.bit_exact()]
    for model, paper in PAPER.items():
        for kernel in (TORCHREC, UNIFORM):
            mean = comparison.mean(kernel, VARYING, model)
            lines.append(goal_line(f"{model} over {kernel}", mean, goal=paper))
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Times as multiples of this project's."""
    figure, (axes,) = subplots(1, (6, 4.2))
    Comparison.of(records, BENCH).draw(axes, _KERNELS)
    save(figure, path)

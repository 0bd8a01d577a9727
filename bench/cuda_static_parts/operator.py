"""Time that PyTorch's operator for inference takes on the host, with more and more features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from timeit import repeat
from typing import Any

from bench.cuda_parts.goals import most_line
from bench.cuda_parts.model_sources import ManyFeatures, ModelFolder, ModelSource
from bench.cuda_parts.models import models
from bench.cuda_static_parts.pretended_gpu import (
    PackingKernel,
    bound_kernel,
    keep_freed_memory,
    pretend,
)
from bench.lib.measurements import measure_all
from bench.lib.plots import line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, installed, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.model import EmbeddingModel

BENCH = "cuda_static.operator"

CONFIG = "cuda_sm90"
FEATURES = (100, 1_000, 10_000)
BATCH = 256

MODEL = "A"
MODEL_US = 50.0
GROWTH = 1.25
"""Goals: microseconds for ``MODEL``, and times as many for the most features as for the fewest."""

_CALLS, _REPEATS = 20, 1_000
_QUICK = FEATURES[:1]
_METRICS = {"packed_us": Metric("us", "lower"), "launched_us": Metric("us", "lower")}
"""Metrics of a call, the best of ``_REPEATS``: without the driver, and through cuda-bindings."""
_HEADER = {"packed_us": "operator, µs", "launched_us": "through cuda-bindings, µs"}


@dataclass(frozen=True)
class Job:
    """The operator of a model."""

    source: ModelSource
    seed: int

    @property
    def labels(self) -> dict[str, str | int]:
        return {"model": self.source.name, "features": len(self.source.load().features)}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return self.source.name


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every model, then so many of the first one's features; nothing without PyTorch."""
    if not find_spec("torch"):
        request.console.print(f"{BENCH}: left out: PyTorch is not installed")
        return [], True
    paths = models(request)
    counts = _QUICK if request.quick else FEATURES
    sources: list[ModelSource] = [ModelFolder(path) for path in paths]
    sources += [ManyFeatures(paths[0], count) for count in counts]
    jobs = [Job(source, request.seed) for source in sources]
    also = installed(("torch", "cuda-bindings"))
    return measure_all(
        BENCH, measure, jobs, _METRICS, console=request.console, also=also, fresh=True
    )


def measure(job: Job) -> dict[str, float]:
    """Values of ``_METRICS``. For a process of its own, which has no GPU afterwards."""
    keep_freed_memory()
    return host_times(job.source.load())


def host_times(model: EmbeddingModel) -> dict[str, float]:
    """Times as from ``measure``; the second is left out where it cannot be measured."""
    import torch

    from gnarl.sw.runtime.cuda.torch import kept, launch, operator
    from gnarl.sw.runtime.cuda.torch.operator_program import OperatorProgram

    config = load_configuration(CONFIG).config
    assert isinstance(config, CudaConfig)
    features = len(model.features)
    program = OperatorProgram(model, choose_schedules(model, config), tuple(range(features)))
    index = getattr(torch, model.features[0].index_type)
    values = torch.zeros(features * BATCH, dtype=index)
    offsets = torch.arange(features * BATCH + 1, dtype=index)
    weights = torch.ones(features * BATCH) if program.first_weighted else None
    inputs = (torch.zeros(features, dtype=torch.int64), values, offsets, weights, program.handle)
    library = torch.library.Library("gnarl", "FRAGMENT")
    library.impl("fused_embedding_bags_at", operator._fused_embedding_bags_at, "CPU")
    call = torch.ops.gnarl.fused_embedding_bags_at
    kernels = {"packed_us": PackingKernel(), "launched_us": bound_kernel(program.program)}
    microseconds = {}
    with torch.no_grad():
        for metric, kernel in kernels.items():
            if kernel is not None:
                pretend(torch, launch, kept, kernel)
                times = repeat(lambda: call(*inputs), number=_CALLS, repeat=_REPEATS)
                microseconds[metric] = 1e6 * min(times) / _CALLS
    return microseconds


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model."""
    body = [cells(row, labels, _HEADER, places=1) for labels, row in rows(records).items()]
    return {"Host time of the operator": Cells(["model", "features", *_HEADER.values()], body)}


def verdict(records: Sequence[Record]) -> str:
    """What was measured of a call with most of it included, against the goals."""
    by_model = {str(model): _most(row) for (model, _), row in rows(records).items()}
    few, many = (by_model.get(f"{count}_features") for count in (FEATURES[0], FEATURES[-1]))
    ratio = many / few if few and many else None
    growth = f"{FEATURES[-1]:,} features over {FEATURES[0]:,}"
    return "\n".join(
        [
            most_line(f"host time for model {MODEL}", by_model.get(MODEL), MODEL_US, "µs"),
            most_line(growth, ratio, GROWTH, "times"),
        ]
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Microseconds over features."""
    points = sorted((features, _most(row)) for (_, features), row in rows(records).items())
    figure, (axes,) = subplots(1, (6, 4.2))
    axes.plot(*zip(*points, strict=True), marker="o")
    line_at(axes, MODEL_US)
    axes.set(xscale="log", xlabel="features", ylabel="µs of host time", ylim=(0, None))
    save(figure, path)


def _most(row: Mapping[str, Any]) -> float:
    return float(max(row[metric] for metric in _METRICS if metric in row))

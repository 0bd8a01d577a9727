"""Whole models on a GPU: an embedding layer, and dense layers behind it (RecFlex, VI-C)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.cuda_parts.comparison import Comparison, run_comparison
from bench.cuda_parts.contenders import Contender
from bench.cuda_parts.field import Field
from bench.cuda_parts.goals import goal_line
from bench.cuda_parts.jagged_inputs import JaggedInputs
from bench.cuda_parts.measure import OURS, TORCH, TORCHREC, UNIFORM, VARYING, Job
from bench.cuda_parts.model_sources import ModelFolder
from bench.cuda_parts.models import models
from bench.cuda_parts.torch_contenders import (
    Make,
    Prepare,
    embedding_bags,
    require_torch,
    to_tensor,
    torchrec,
)
from bench.cuda_parts.uniform import uniform_schedules
from bench.lib.plots import save, subplots
from bench.lib.records import Record
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel

BENCH = "cuda.end_to_end"

LAYERS = (1024, 256, 128)
PAPER_TORCHREC = 1.85

METRICS = ("kernel_ms", "speedup", "clock_mhz")
"""Those of a comparison's metrics that are recorded."""

_QUICK_BATCHES = 4
_KERNELS = (OURS, UNIFORM, TORCHREC, TORCH)


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every model; whether all went well."""
    batches = _QUICK_BATCHES if request.quick else request.options["batches"]
    folders = models(request)

    def jobs(results: Results, gpu: GpuInfo) -> list[Job]:
        return [
            Job(
                BENCH,
                ModelFolder(path),
                VARYING,
                batches,
                request.seed,
                request.options["schedules"],
                _KERNELS[1:],
                results,
                request.options["deadline"],
                model_ways,
                METRICS,
            )
            for path in folders
        ]

    return run_comparison(request, BENCH, jobs)


def model_ways(job: Job, field: Field, chosen: ScheduleSet) -> dict[str, Callable[[], Contender]]:
    """How each contender is made that computes the whole model; all in CUDA graphs, if they
    can be recorded."""

    def ours(schedules: ScheduleSet) -> Contender:
        return field.torch(with_layers(fused_bags(schedules, field.config)))

    return {
        OURS: lambda: ours(chosen),
        UNIFORM: lambda: ours(uniform_schedules(field.model, field.config)),
        TORCHREC: lambda: field.foreign(with_layers(torchrec)),
        TORCH: lambda: field.foreign(with_layers(embedding_bags)),
    }


def with_layers(make: Make) -> Make:
    """An embedding layer, then dense ones."""

    def made(model: EmbeddingModel, tables: Sequence[np.ndarray], device: str) -> Prepare:
        torch = require_torch()
        prepare_bags = make(model, tables, device)
        widths = (sum(feature.dim for feature in model.features), *LAYERS)
        torch.manual_seed(0)
        parts: list[Any] = []
        for before, after in zip(widths, widths[1:], strict=False):
            parts += [torch.nn.Linear(before, after), torch.nn.ReLU()]
        layers = torch.nn.Sequential(*parts[:-1]).to(device)

        def prepare(batch: Batch) -> Callable[[], Any]:
            launch = prepare_bags(batch)

            def launch_all() -> Any:
                pooled = launch()
                return layers(torch.cat(pooled, dim=1) if isinstance(pooled, list) else pooled)

            return launch_all

        return prepare

    return made


def fused_bags(schedules: ScheduleSet, config: CudaConfig) -> Make:
    """This project's layer as PyTorch's users have it."""

    def made(model: EmbeddingModel, tables: Sequence[np.ndarray], device: str) -> Prepare:
        require_torch()
        from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags

        on_device = [to_tensor(table, device) for table in tables]
        layer = FusedEmbeddingBags(on_device, model.features, schedules, config=config)

        def prepare(batch: Batch) -> Callable[[], Any]:
            inputs = JaggedInputs.of(model, batch, device)
            return lambda: layer.forward_concatenated(inputs)

        return prepare

    return made


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model."""
    return {"End to end": Comparison.of(records, BENCH).speedup_table(_KERNELS)}


def verdict(records: Sequence[Record]) -> str:
    """Speedups, geometric means."""
    comparison = Comparison.of(records, BENCH)
    goals = {UNIFORM: None, TORCHREC: PAPER_TORCHREC, TORCH: None}
    return "\n".join(
        goal_line(f"over {kernel}, geometric mean", comparison.mean(kernel, VARYING), goal=goal)
        for kernel, goal in goals.items()
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Times as multiples of this project's."""
    figure, (axes,) = subplots(1, (8, 4.2))
    Comparison.of(records, BENCH).draw(axes, _KERNELS)
    save(figure, path)

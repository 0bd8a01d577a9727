"""Tunes a model's file to a file of schedules: ``gnarl tune`` of the CUDA target."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.config import require_cuda
from gnarl.sw.compiler.cuda.schedule import STRATEGIES
from gnarl.sw.compiler.cuda.tune import measures
from gnarl.sw.compiler.cuda.tune import tune as find_schedules
from gnarl.sw.runtime.cuda.command_line import DEFAULT_HISTORY
from gnarl.sw.runtime.cuda.gpu.measure import find_measurer
from gnarl.sw.runtime.cuda.sources import workload
from gnarl.sw.runtime.report.stages import Stages, quiet
from gnarl.sw.runtime.target.generator import Hardware
from gnarl.sw.workloads.embedding.data import past_batches
from gnarl.sw.workloads.embedding.model import EmbeddingModel
from gnarl.sw.workloads.embedding.model_with_values import ModelWithValues


def tune(
    hardware: Hardware[Any],
    source: EmbeddingModel | str | Path,
    output: Path,
    *,
    seed: int,
    batches: int = DEFAULT_HISTORY,
    strategy: str = STRATEGIES[0],
    stages: Stages = quiet,
    **options: Any,
) -> str:
    """Writes the schedules of the model in ``source``, and says how they were found.

    batches, strategy, options
        as ``gnarl tune`` has them; options are ``candidates``, ``quick`` and ``journal``.

    Historical batches are synthesised from what the model says, and measured on all GPUs of this
    machine that the configuration is for. Raises ``GnarlError`` for bad input of any kind, and
    where no device is left to measure on.
    """
    config = require_cuda(hardware.name, hardware.config)
    with stages("load"):
        model = workload(source)
        if isinstance(model, ModelWithValues):
            model = model.model
        if not isinstance(model, EmbeddingModel):
            raise WorkloadError(f"{model.name}: expressions are not tuned: must be a model")
    with stages("synthesise") as advance:
        history = []
        for batch in past_batches(model, batches, seed):
            history.append(batch)
            advance(len(history) / batches)
    failures: list[str] = []
    with stages("tune") as advance:
        measurer = find_measurer(model, config, history) if measures(strategy) else None
        with measurer or nullcontext():
            tuned = find_schedules(
                model,
                config,
                history,
                measurer,
                output=output,
                seed=seed,
                strategy=strategy,
                **options,
                progress=lambda done, total, left: advance(done / max(1, total)),
                note=failures.append,
            )
    schedules = _count(len(tuned.schedules), "schedule")
    text = f"{schedules} for {_count(len(model.features), 'feature')}: {tuned.origin}"
    return "; ".join([text, *failures])


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number:,} {what}s"

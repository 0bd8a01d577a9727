"""From a model to a program file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sw.compiler.cuda import schedule_file
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.cost_model import choose_schedules
from sw.compiler.cuda.program import build_program
from sw.compiler.cuda.sections import encode
from sw.program.program import Program
from sw.workloads.embedding.model import EmbeddingModel


def compile(
    workload: EmbeddingModel,
    config: CudaConfig,
    *,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
    schedules: Path | None = None,
) -> Program:
    """Fuses all features into one kernel.

    schedules
        file that ``gnarl tune`` wrote; without, the cost model chooses by what the model says of
        pooling factors. ``seed`` changes nothing.

    Raises ``WorkloadError`` for schedules of another model or architecture, and for features that
    no template takes.
    """
    if schedules is None:
        chosen = choose_schedules(workload, config)
    else:
        chosen = schedule_file.load(schedules, workload, config)
    progress(0.5)
    return encode(build_program(workload, chosen), config)

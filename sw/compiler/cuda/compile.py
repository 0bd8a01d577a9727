"""Compiles a model, or an expression, to a program."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda import dumps, schedule_file
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_for_sizes
from gnarl.sw.compiler.cuda.feature_groups import BlockSize, block_sizes
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.sections import encode
from gnarl.sw.compiler.cuda.tensor.compile import compile_expression
from gnarl.sw.compiler.passes import Pass, Trace
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel
from gnarl.sw.workloads.embedding.statistics import from_batches
from gnarl.sw.workloads.tensor.workload import TensorWorkload

CudaWorkload = EmbeddingModel | TensorWorkload

PASSES = (
    Pass("group", "features of equal kind, rows and nearly equal bags, with their candidates"),
    Pass("schedule", "occupancy and a schedule for each feature, by the cost model or from a file"),
    Pass("fuse", "the kernel's source: a branch for each distinct pair of kind and schedule"),
)


def compile(  # noqa: A001
    workload: CudaWorkload,
    config: CudaConfig,
    *,
    seed: int = 0,
    trace: Trace | None = None,
    schedules: Path | None = None,
) -> Program:
    """Fuses all features into one kernel; expressions, too, become a kernel.

    schedules
        file that ``gnarl tune`` wrote; without, the cost model chooses by what the model says of
        pooling factors, or by an expression's operands. ``seed`` changes nothing.
    trace
        gets the results of ``PASSES``.

    Raises ``WorkloadError`` for schedules of another model or architecture, for features that no
    template takes, for names of features that tensors of others have, and for expressions that are
    not supported.
    """
    trace = trace or Trace()

    def embed(model: EmbeddingModel, batches: Sequence[Batch] = ()) -> EmbeddingProgram:
        return _embed(model, config, trace, schedules, batches)

    if isinstance(workload, EmbeddingModel):
        return encode(embed(workload), config)
    if schedules is not None:
        raise WorkloadError(f"{schedules}: schedules are for models: must be left out")
    return encode(compile_expression(workload, config, embed, trace), config)


def _embed(
    model: EmbeddingModel,
    config: CudaConfig,
    trace: Trace,
    schedules: Path | None,
    batches: Sequence[Batch],
) -> EmbeddingProgram:
    """Schedules suit ``batches``, where there are any."""

    @cache
    def sizes() -> list[BlockSize]:
        if not batches:
            return block_sizes(model, config)
        statistics = from_batches(model, batches)
        return block_sizes(model, config, statistics, max(batch.size for batch in batches))

    trace.after("group", lambda: dumps.group_texts(model, sizes()))
    if schedules is None:
        chosen = choose_for_sizes(model, sizes())
    else:
        chosen = schedule_file.load(schedules, model, config)
    trace.after(
        "schedule",
        lambda: dumps.schedule_texts(model, chosen),
        lambda: schedule_file.check(chosen, model, config),
    )
    trace.progress(0.5)
    program = build_program(model, chosen)
    trace.after("fuse", lambda: {"cu": program.kernel.source})
    return program

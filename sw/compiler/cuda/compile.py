"""Compiles a model, or an expression, to a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda import dumps, schedule_file
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_for_sizes
from gnarl.sw.compiler.cuda.feature_groups import BlockSize, block_sizes
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.cuda.sections import encode
from gnarl.sw.compiler.cuda.tensor.compile import compile_expression
from gnarl.sw.compiler.passes import Pass, Trace, made, run_passes
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel
from gnarl.sw.workloads.embedding.model_with_values import ModelWithValues
from gnarl.sw.workloads.embedding.statistics import from_batches
from gnarl.sw.workloads.tensor.workload import TensorWorkload

CudaWorkload = EmbeddingModel | ModelWithValues | TensorWorkload


@dataclass(frozen=True)
class EmbeddingOptions:
    """What the passes are told. Schedules are those of the file ``schedules``, or suit ``batches``,
    where there are any."""

    model: EmbeddingModel
    config: CudaConfig
    schedules: Path | None = None
    batches: Sequence[Batch] = ()
    progress: Callable[[float], None] = lambda share: None

    @cached_property
    def sizes(self) -> list[BlockSize]:
        """Groups of features with their candidates, for each size of blocks."""
        if not self.batches:
            return block_sizes(self.model, self.config)
        statistics = from_batches(self.model, self.batches)
        largest = max(batch.size for batch in self.batches)
        return block_sizes(self.model, self.config, statistics, largest)


@dataclass(frozen=True)
class EmbeddingState:
    """What the passes have made of a model."""

    schedules: ScheduleSet | None = None
    program: EmbeddingProgram | None = None


EmbeddingPass = Pass[EmbeddingState, EmbeddingOptions]


def _group(state: EmbeddingState, options: EmbeddingOptions) -> EmbeddingState:
    if options.schedules is None:
        _ = options.sizes
    return state


def _schedule(state: EmbeddingState, options: EmbeddingOptions) -> EmbeddingState:
    if options.schedules is None:
        schedules = choose_for_sizes(options.model, options.sizes)
    else:
        schedules = schedule_file.load(options.schedules, options.model, options.config)
    return replace(state, schedules=schedules)


def _fuse(state: EmbeddingState, options: EmbeddingOptions) -> EmbeddingState:
    options.progress(0.5)
    return replace(state, program=build_program(options.model, made(state.schedules)))


PASSES: tuple[EmbeddingPass, ...] = (
    Pass(
        "group",
        "features of equal kind, rows and nearly equal bags, with their candidates",
        lambda state, options: dumps.group_texts(options.model, options.sizes),
        run=_group,
    ),
    Pass(
        "schedule",
        "occupancy and a schedule for each feature, by the cost model or from a file",
        lambda state, options: dumps.schedule_texts(options.model, made(state.schedules)),
        run=_schedule,
        check=lambda state, options: schedule_file.check(
            made(state.schedules), options.model, options.config
        ),
    ),
    Pass(
        "fuse",
        "the kernel's source: a branch for each distinct pair of kind and schedule",
        lambda state, options: {"cu": made(state.program).kernel.source},
        run=_fuse,
    ),
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
        options = EmbeddingOptions(model, config, schedules, batches, trace.progress)
        return made(run_passes(PASSES, EmbeddingState(), options, trace).program)

    if isinstance(workload, ModelWithValues):
        workload = workload.model
    if isinstance(workload, EmbeddingModel):
        return encode(embed(workload), config)
    if schedules is not None:
        raise WorkloadError(f"{schedules}: schedules are for models: must be left out")
    return encode(compile_expression(workload, config, embed, trace), config)

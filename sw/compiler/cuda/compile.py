"""From a model to a program."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sw.compiler.cuda import dumps, schedule_file
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.cost_model import choose_for_groups
from sw.compiler.cuda.feature_groups import FeatureGroup, group_features
from sw.compiler.cuda.program import build_program
from sw.compiler.cuda.sections import encode
from sw.compiler.passes import Pass, Trace
from sw.program.program import Program
from sw.workloads.embedding.model import EmbeddingModel

PASSES = (
    Pass("group", "features of equal kind, rows and nearly equal bags, with their candidates"),
    Pass("schedule", "occupancy and a schedule for each feature, by the cost model or from a file"),
    Pass("fuse", "the kernel's source: a branch for each distinct pair of kind and schedule"),
)


def compile(  # noqa: A001
    workload: EmbeddingModel,
    config: CudaConfig,
    *,
    seed: int = 0,
    trace: Trace | None = None,
    schedules: Path | None = None,
) -> Program:
    """Fuses all features into one kernel.

    schedules
        file that ``gnarl tune`` wrote; without, the cost model chooses by what the model says of
        pooling factors. ``seed`` changes nothing.
    trace
        gets the results of ``PASSES``.

    Raises ``WorkloadError`` for schedules of another model or architecture, for features that no
    template takes, and for names of features that tensors of others have.
    """
    trace = trace or Trace()

    @cache
    def groups() -> list[FeatureGroup]:
        return group_features(workload, config.block_threads)

    trace.after("group", lambda: dumps.group_texts(workload, groups()))
    if schedules is None:
        chosen = choose_for_groups(workload, config, groups())
    else:
        chosen = schedule_file.load(schedules, workload, config)
    trace.after(
        "schedule",
        lambda: dumps.schedule_texts(workload, chosen),
        lambda: schedule_file.check(chosen, workload, config),
    )
    trace.progress(0.5)
    program = build_program(workload, chosen)
    trace.after("fuse", lambda: {"cu": program.kernel.source})
    return encode(program, config)

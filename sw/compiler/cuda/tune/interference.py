"""Kernels that a tuner measures, made with the fusion compiler itself (RecFlex, IV-A2, fig. 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.cuda.tune.measurer import FusedJob, Job
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel


@dataclass(frozen=True)
class TuningKernel:
    """A program of pseudo-features: each is a copy of one of the model's features.

    sources
        for each pseudo-feature the number of the one that it copies.
    candidates
        how many of them, the first, are candidates of a local job; 0 for a fused kernel.
    """

    program: EmbeddingProgram
    sources: tuple[int, ...]
    candidates: int

    def batch(self, batch: Batch) -> Batch:
        """The pseudo-features' inputs, of the model's."""
        return Batch(batch.size, [batch.features[source] for source in self.sources])


def tuning_kernel(model: EmbeddingModel, job: Job) -> TuningKernel:
    """Linear in the job's features."""
    if isinstance(job, FusedJob):
        part = select(model, job.features)
        return TuningKernel(build_program(part, job.schedules), job.features, 0)
    sources = (job.feature,) * len(job.candidates) + tuple(source for source, _ in job.padding)
    pseudo = select(model, sources)
    schedules = [*job.candidates, *(schedule for _, schedule in job.padding)]
    of_job = ScheduleSet.of(
        schedules,
        model=pseudo.digest,
        arch=job.arch,
        block_threads=job.block_threads,
        blocks_per_sm=job.blocks_per_sm,
        origin="being tuned",
    )
    return TuningKernel(build_program(pseudo, of_job), sources, len(job.candidates))


def select(model: EmbeddingModel, sources: Sequence[int]) -> EmbeddingModel:
    """The model of copies of the features with these numbers, which may occur several times."""
    return EmbeddingModel(
        model.name,
        tuple(
            replace(model.features[source], name=f"{model.features[source].name}#{copy}")
            for copy, source in enumerate(sources)
        ),
    )

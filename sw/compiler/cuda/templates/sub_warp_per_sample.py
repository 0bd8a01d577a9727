"""Some lanes of a warp for each sample, for rows that need only a few."""

from __future__ import annotations

from sw.compiler.cuda.schedule import Schedule
from sw.compiler.cuda.templates.template import (
    BlockCount,
    Parameter,
    Template,
    Work,
    register,
    vector_refusal,
)
from sw.compiler.frontend.embedding_model import Feature

_MOST_VECTORS = 4
"""Of a row for each lane; with more, other templates are right."""


class SubWarpPerSample(Template):
    """See ``gnarl/sub_warp_per_sample.cuh``."""

    name = "sub_warp_per_sample"
    header = "gnarl/sub_warp_per_sample.cuh"
    struct = "gnarl::SubWarpPerSample"
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("threads", (2, 4, 8, 16), "lanes of a sample; rows lie side by side in them"),
        Parameter("unroll", (1, 2, 4, 8), "such rows in flight one after the other"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        vector, threads = schedule["vector"], schedule["threads"]
        if reason := vector_refusal(feature, vector):
            return reason
        most = _MOST_VECTORS * threads * vector
        if feature.dim > most:
            return f"threads = {threads}: dim must be at most {most} with vector = {vector}"
        return ""

    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        return BlockCount("samples", 1, block_threads // schedule["threads"])

    def work(
        self,
        schedule: Schedule,
        feature: Feature,
        block_threads: int,
        batch: float,
        values: float,
        longest: float,
    ) -> Work:
        raise NotImplementedError


register(SubWarpPerSample())

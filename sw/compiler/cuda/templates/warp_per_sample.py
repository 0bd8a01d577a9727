"""A warp for each sample."""

from __future__ import annotations

from sw.compiler.cuda.schedule import Schedule
from sw.compiler.cuda.templates.template import (
    WARP_THREADS,
    BlockCount,
    Parameter,
    Template,
    Work,
    register,
    vector_refusal,
)
from sw.compiler.frontend.embedding_model import Feature


class WarpPerSample(Template):
    """See ``gnarl/warp_per_sample.cuh``."""

    name = "warp_per_sample"
    header = "gnarl/warp_per_sample.cuh"
    struct = "gnarl::WarpPerSample"
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("rows", (1, 2, 4, 8, 16), "rows side by side, where they need so few lanes"),
        Parameter("unroll", (1, 2, 4, 8), "such rows in flight one after the other"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        vector, rows, unroll = schedule["vector"], schedule["rows"], schedule["unroll"]
        if reason := vector_refusal(feature, vector):
            return reason
        lanes, needed = WARP_THREADS // rows, feature.dim // vector
        if rows > 1 and needed > lanes:
            return f"rows = {rows}: a row needs {needed} lanes, not {lanes}"
        if rows * unroll > WARP_THREADS:
            return f"unroll = {unroll}: rows * unroll must be at most {WARP_THREADS}"
        return ""

    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        return BlockCount("samples", 1, block_threads // WARP_THREADS)

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


register(WarpPerSample())

"""Features with an index or so a sample: a thread for each vector of the output."""

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


class OneHot(Template):
    """See ``gnarl/one_hot.cuh``."""

    name = "one_hot"
    header = "gnarl/one_hot.cuh"
    struct = "gnarl::OneHot"
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("samples_per_thread", (1, 2, 4), "samples of a thread, in flight at once"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        vector = schedule["vector"]
        if reason := vector_refusal(feature, vector):
            return reason
        if feature.dim // vector > block_threads:
            return f"vector = {vector}: dim {feature.dim} needs more than {block_threads} threads"
        return ""

    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        return BlockCount("samples", 1, self._samples(schedule, feature, block_threads))

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

    @staticmethod
    def _samples(schedule: Schedule, feature: Feature, block_threads: int) -> int:
        groups = block_threads // (feature.dim // schedule["vector"])
        return groups * schedule["samples_per_thread"]


register(OneHot())

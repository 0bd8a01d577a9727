"""A thread for each vector of the output: for an index or so a sample."""

from __future__ import annotations

import math

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates import costs
from gnarl.sw.compiler.cuda.templates.template import BlockCount, Parameter, Template, Work
from gnarl.sw.workloads.embedding.model import Feature


class OneHot(Template):
    """A thread for each vector of the output: for an index or so a sample.

    A thread pools the same columns of a few samples, in turns of an index of each, so that their
    loads are in flight together. No thread waits for another. Longer bags are pooled as well, but
    slowly. See ``gnarl/one_hot.cuh``.
    """

    name = "one_hot"
    header = "gnarl/one_hot.cuh"
    struct = "gnarl::OneHot"
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("samples_per_thread", (1, 2, 4), "samples of a thread, in flight at once"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        vector = schedule["vector"]
        if reason := self.vector_refusal(feature, vector):
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
        vector, of_thread = schedule["vector"], schedule["samples_per_thread"]
        samples = costs.mean_samples(self._samples(schedule, feature, block_threads), batch)
        warps = block_threads / WARP_THREADS
        turns = math.ceil(longest)
        turn = of_thread * (6 + 2 * feature.weighted + costs.pool_instructions(feature, vector)) + 4
        sample = 12 + costs.store_instructions(vector)
        return Work(
            warp_loads=max(0, 2 * turns - 1),  # indices are not loaded ahead
            instructions=warps * (of_thread * sample + turns * turn),
            sectors=samples * costs.sample_sectors(feature, batch, values),
            barriers=0,
        )

    @staticmethod
    def _samples(schedule: Schedule, feature: Feature, block_threads: int) -> int:
        groups = block_threads // (feature.dim // schedule["vector"])
        return groups * schedule["samples_per_thread"]

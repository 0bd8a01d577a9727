"""Some lanes of a warp for each sample, or a few in turn, for rows that need only a few."""

from __future__ import annotations

import math

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates.costs import mean_samples, sample_sectors
from gnarl.sw.compiler.cuda.templates.lane_group import LaneGroup
from gnarl.sw.compiler.cuda.templates.template import BlockCount, Parameter, Template, Work
from gnarl.sw.workloads.embedding.model import Feature

_MOST_VECTORS = 4
"""Vectors of a row for each lane; with more, other templates are right."""


class SubWarpPerSample(Template):
    """Some lanes of a warp for each sample: for short rows, and few indices a sample.

    As ``warp_per_sample``, with several samples in a warp; it goes through as many rounds as the
    longest of their bags needs. As many rows lie side by side as a sample's lanes have room for.
    With several samples in turn, the next one's offsets and indices are on their way as there.
    See ``gnarl/sub_warp_per_sample.cuh``.
    """

    name = "sub_warp_per_sample"
    header = "gnarl/sub_warp_per_sample.cuh"
    struct = "gnarl::SubWarpPerSample"
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("threads", (2, 4, 8, 16), "lanes of a sample; rows lie side by side in them"),
        Parameter("unroll", (1, 2, 4, 8), "such rows in flight one after the other"),
        Parameter("samples_in_turn", (1, 4), "consecutive samples of these lanes"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        vector, threads = schedule["vector"], schedule["threads"]
        if reason := self.vector_refusal(feature, vector):
            return reason
        most = _MOST_VECTORS * threads * vector
        if feature.dim > most:
            return f"threads = {threads}: dim must be at most {most} with vector = {vector}"
        return ""

    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        return BlockCount("samples", 1, self._samples(schedule, block_threads))

    def work(
        self,
        schedule: Schedule,
        feature: Feature,
        block_threads: int,
        batch: float,
        values: float,
        longest: float,
    ) -> Work:
        vector, threads = schedule["vector"], schedule["threads"]
        lanes = 1 << (feature.dim // vector - 1).bit_length()
        rows = max(1, threads // lanes)
        group = LaneGroup(feature, threads, vector, rows, schedule["unroll"])
        samples = mean_samples(self._samples(schedule, block_threads), batch)
        turns = max(1, math.ceil(samples * threads / block_threads))
        warps = math.ceil(samples * threads / WARP_THREADS)
        return Work(
            warp_loads=turns * group.passes * group.rounds(longest),
            instructions=warps * group.warp_instructions(longest),
            sectors=samples * sample_sectors(feature, batch, values),
            barriers=0,
        )

    @staticmethod
    def _samples(schedule: Schedule, block_threads: int) -> int:
        """Samples of a block."""
        return block_threads // schedule["threads"] * schedule["samples_in_turn"]

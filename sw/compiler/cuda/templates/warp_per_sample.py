"""A warp for each sample, or a few samples in turn."""

from __future__ import annotations

import math

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates.costs import mean_length, mean_samples, sample_sectors
from gnarl.sw.compiler.cuda.templates.lane_group import LaneGroup
from gnarl.sw.compiler.cuda.templates.template import BlockCount, Parameter, Template, Work
from gnarl.sw.workloads.embedding.model import Feature


class WarpPerSample(Template):
    """A warp for each sample: for some indices a sample, and rows of any length.

    The warp fetches 32 indices side by side, the next ones before it pools these, and hands them
    out by shuffles. Its lanes cover a row; short rows lie side by side, long ones take several
    vectors of each lane. With several samples it has the next one's offsets and indices on their
    way while it pools one. With ``rows`` = ``samples_per_warp`` = 1 this is what uniform kernels do
    for all features, as TorchRec's does. See ``gnarl/warp_per_sample.cuh``.
    """

    name = "warp_per_sample"
    header = "gnarl/warp_per_sample.cuh"
    struct = "gnarl::WarpPerSample"
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("rows", (1, 2, 4, 8, 16, 32), "rows side by side, where they need so few lanes"),
        Parameter("unroll", (1, 2, 4, 8), "such rows in flight one after the other"),
        Parameter("samples_per_warp", (1, 2, 4, 8), "consecutive samples of a warp"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        vector, rows = schedule["vector"], schedule["rows"]
        if reason := self.vector_refusal(feature, vector):
            return reason
        lanes, needed = WARP_THREADS // rows, feature.dim // vector
        if rows > 1 and needed > lanes:
            return f"rows = {rows}: a row needs {needed} lanes, not {lanes}"
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
        group = LaneGroup(
            feature, WARP_THREADS, schedule["vector"], schedule["rows"], schedule["unroll"]
        )
        samples = mean_samples(self._samples(schedule, block_threads), batch)
        mean = mean_length(batch, values)
        others = math.ceil(samples * WARP_THREADS / block_threads) - 1
        return Work(
            warp_loads=group.passes * (group.rounds(longest) + max(0, others) * group.rounds(mean)),
            instructions=samples * group.warp_instructions(mean),
            sectors=samples * sample_sectors(feature, batch, values),
            barriers=0,
        )

    @staticmethod
    def _samples(schedule: Schedule, block_threads: int) -> int:
        """Samples of a block."""
        return block_threads // WARP_THREADS * schedule["samples_per_warp"]

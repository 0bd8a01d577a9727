"""A block for a few samples: for large rows and long bags."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates import costs
from gnarl.sw.compiler.cuda.templates.template import BlockCount, Parameter, Template, Work
from gnarl.sw.workloads.embedding.model import Feature

_MOST_IN_FLIGHT = 32
"""Elements that a thread loads at a time: more would not fit in its registers."""


@dataclass(frozen=True)
class _Geometry:
    """Sizes as in the header: threads of a sample, and of them, of a row; vectors of a thread."""

    team: int
    lanes: int
    chunks: int

    @property
    def rows(self) -> int:
        """Rows side by side."""
        return self.team // self.lanes

    def rounds(self, length: float, unroll: int) -> int:
        """Rounds in which a bag of so many indices is pooled."""
        return math.ceil(length / (self.rows * unroll))

    @property
    def shuffles(self) -> int:
        """Steps in which a warp combines its rows."""
        return max(0, (WARP_THREADS // self.lanes).bit_length() - 1)

    @property
    def partials(self) -> int:
        """How many partials of a sample are combined in shared memory."""
        return self.team // max(self.lanes, WARP_THREADS)


def _geometry(schedule: Schedule, feature: Feature, block_threads: int) -> _Geometry:
    team = block_threads // schedule["samples"]
    vectors = feature.dim // schedule["vector"]
    lanes = min(team, 1 << (vectors - 1).bit_length())
    return _Geometry(team, lanes, -(-vectors // lanes))


class BlockSamples(Template):
    """A block for a few samples: for long rows and long bags.

    Each sample has a team of warps, which pools several rows side by side, or has a vector or more
    of every row in each thread, and combines through shared memory in the end. The team's indices
    come straight from global memory, or through two tiles in shared memory, one coming in while the
    other is pooled. See ``gnarl/block_samples.cuh``.
    """

    name = "block_samples"
    header = "gnarl/block_samples.cuh"
    struct = "gnarl::BlockSamples"
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("samples", (1, 2, 4), "samples of a block; its threads are split among them"),
        Parameter("unroll", (1, 2, 4, 8), "rows in flight for each thread"),
        Parameter(
            "stage",
            (0, 1, 2),
            "how threads get indices: 0 straight from global memory, 1 through shared memory, "
            "2 through shared memory by asynchronous copies (from sm_80 on; before, as 1)",
        ),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        vector, samples, unroll = schedule["vector"], schedule["samples"], schedule["unroll"]
        if reason := self.vector_refusal(feature, vector):
            return reason
        if samples * WARP_THREADS > block_threads:
            return f"samples = {samples}: must be at most {block_threads // WARP_THREADS}"
        geometry = _geometry(schedule, feature, block_threads)
        most = _MOST_IN_FLIGHT // (vector * geometry.chunks)
        if most == 0:
            return (
                f"vector = {vector}: {block_threads} threads cannot hold dim {feature.dim} of "
                f"{samples} samples"
            )
        if unroll > most:
            return f"unroll = {unroll}: must be at most {most} with dim {feature.dim}"
        if schedule["stage"] and unroll > geometry.lanes:
            return f"unroll = {unroll}: must be at most {geometry.lanes} with stage"
        return ""

    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        return BlockCount("samples", 1, schedule["samples"])

    def shared_bytes(self, schedule: Schedule, feature: Feature, block_threads: int) -> int:
        geometry = _geometry(schedule, feature, block_threads)
        staged = 2 * block_threads if schedule["stage"] else 1
        weights = staged if feature.weighted else 1
        index = 8 if schedule["stage"] == 2 else 4
        tiles = -(-(index * staged + 4 * weights) // index) * index
        partials = 0
        if geometry.partials > 1:
            threads = schedule["samples"] * (geometry.partials - 1) * geometry.lanes
            partials = -(-4 * schedule["vector"] * threads // index) * index
        return max(tiles, partials)

    def work(
        self,
        schedule: Schedule,
        feature: Feature,
        block_threads: int,
        batch: float,
        values: float,
        longest: float,
    ) -> Work:
        vector, unroll, stage = schedule["vector"], schedule["unroll"], schedule["stage"]
        geometry = _geometry(schedule, feature, block_threads)
        samples = costs.mean_samples(schedule["samples"], batch)
        mean = costs.mean_length(batch, values)
        index = (1 + feature.weighted) * (4 if stage == 0 else 2)  # global addresses take two more
        row = index + costs.pool_instructions(feature, vector, geometry.chunks)
        tiles = math.ceil(mean / geometry.team) if stage else 0
        of_warp = (
            20
            + geometry.rounds(mean, unroll) * (unroll * row + 5)
            + tiles * (20 + 6 * feature.weighted)
            + vector * (2 * geometry.shuffles + 2 * geometry.partials)
            + costs.store_instructions(vector, geometry.chunks)
        )
        of_longest = math.ceil(longest / geometry.team) if stage else 0
        return Work(
            warp_loads=geometry.rounds(longest, unroll),
            instructions=samples * geometry.team / WARP_THREADS * of_warp,
            sectors=samples * costs.sample_sectors(feature, batch, values),
            barriers=bool(stage) + of_longest + (geometry.partials > 1),
        )

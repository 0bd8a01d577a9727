"""Features with bags of thousands of indices: several blocks for each sample."""

from __future__ import annotations

import math

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates import costs
from gnarl.sw.compiler.cuda.templates.row_lanes import RowLanes, sectors
from gnarl.sw.compiler.cuda.templates.template import (
    BlockCount,
    Parameter,
    Template,
    Work,
    Workspace,
)
from gnarl.sw.workloads.embedding.model import Feature


class SplitSample(Template):
    """Several blocks for each sample: for bags of thousands of indices.

    Each block pools an equal share of the bag with all its threads and leaves the partial in the
    workspace; the last block to arrive combines them. A bag is split no further than leaves every
    thread of a block a full round of rows, so short ones are pooled by one block, and the others
    find nothing to do. See ``gnarl/split_sample.cuh``.
    """

    name = "split_sample"
    header = "gnarl/split_sample.cuh"
    struct = "gnarl::SplitSample"
    registers = 56
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("parts", (2, 4, 8, 16), "blocks that share a sample, at most"),
        Parameter("unroll", (2, 4, 8), "rows of a thread, in flight at once"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        return self.vector_refusal(feature, schedule["vector"])

    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        return BlockCount("samples", schedule["parts"])

    def shared_bytes(self, schedule: Schedule, feature: Feature, block_threads: int) -> int:
        return RowLanes(feature, schedule["vector"]).warp_totals_bytes(block_threads) + 4

    def workspace(self, schedule: Schedule, feature: Feature, block_threads: int) -> Workspace:
        """The partials of every sample, and how many of them there are."""
        partials = schedule["parts"] * RowLanes(feature, schedule["vector"]).partial_bytes()
        return Workspace("samples", 16 * -(-(partials + 4) // 16))

    def work(
        self,
        schedule: Schedule,
        feature: Feature,
        block_threads: int,
        batch: float,
        values: float,
        longest: float,
    ) -> Work:
        vector, unroll = schedule["vector"], schedule["unroll"]
        lanes = RowLanes(feature, vector)
        warps = block_threads // WARP_THREADS
        round_rows = block_threads // lanes.lanes * unroll
        split = self._parts(schedule, longest, round_rows)
        # A sample has `parts` blocks, of which the mean bag keeps so many busy.
        mean = costs.mean_length(batch, values)
        parts = self._parts(schedule, mean, round_rows)
        busy, shared = parts / schedule["parts"], parts > 1
        of_tile = (
            math.ceil(mean / parts / round_rows) * costs.round_instructions(feature, vector, unroll)
            + costs.combine_instructions(vector, lanes.lanes)
            + 2 * vector
        )
        of_busy = warps * (40 + lanes.tiles * of_tile + 20 * shared)
        of_sample = lanes.tiles * (costs.store_instructions(vector) + shared * parts * (5 + vector))
        return Work(
            warp_loads=lanes.tiles * math.ceil(longest / split / round_rows) + (split > 1),
            instructions=busy * of_busy + (1 - busy) * warps * 20 + of_sample / schedule["parts"],
            sectors=(
                costs.sample_sectors(feature, batch, values) / schedule["parts"]
                + busy * shared * (2 + 3 * sectors(lanes.partial_bytes()))
            ),
            barriers=busy * ((warps > 1) * 2 * lanes.tiles + 2 * shared),
        )

    @staticmethod
    def _parts(schedule: Schedule, length: float, round_rows: int) -> int:
        """Blocks that pool a bag of so many indices."""
        return max(1, min(schedule["parts"], int(length) // round_rows))

"""Features with bags of very unequal length: equal shares of the indices for all threads."""

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


class ReduceByKey(Template):
    """Equal shares of the indices for all threads: for bags of very unequal length.

    A block takes a tile of consecutive indices, whatever bags they are of, and groups of lanes take
    equal runs of it; what a run has of a bag is carried on to the runs after it. Bags that cross
    tiles are combined from partials in the workspace by the last of their tiles to arrive. So no
    thread waits for a long bag. See ``gnarl/reduce_by_key.cuh``.
    """

    name = "reduce_by_key"
    header = "gnarl/reduce_by_key.cuh"
    struct = "gnarl::ReduceByKey"
    registers = 76
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("values_per_block", (128, 256, 512, 1024, 2048), "indices of a tile"),
        Parameter("unroll", (2, 4, 8), "rows of a thread, in flight at once"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        vector, values = schedule["vector"], schedule["values_per_block"]
        if reason := self.vector_refusal(feature, vector):
            return reason
        least = block_threads // RowLanes(feature, vector).lanes * schedule["unroll"]
        if values < least:
            return f"values_per_block = {values}: must be at least {least}, rows in flight at once"
        return ""

    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        return BlockCount("values", 1, schedule["values_per_block"])

    def shared_bytes(self, schedule: Schedule, feature: Feature, block_threads: int) -> int:
        """Rows, ends of bags and weights of a tile, padded; totals and flags of the warps."""
        lanes = RowLanes(feature, schedule["vector"])
        slots = schedule["values_per_block"] + block_threads // lanes.lanes
        weights = slots if feature.weighted else 1
        warps = block_threads // WARP_THREADS
        return 4 * (2 * slots + weights + warps + 3) + lanes.warp_totals_bytes(block_threads)

    def workspace(self, schedule: Schedule, feature: Feature, block_threads: int) -> Workspace:
        """Two partials of every tile, and how many tiles have come."""
        partials = 2 * RowLanes(feature, schedule["vector"]).partial_bytes()
        return Workspace("values", 16 * -(-(partials + 4) // 16), schedule["values_per_block"])

    def work(
        self,
        schedule: Schedule,
        feature: Feature,
        block_threads: int,
        batch: float,
        values: float,
        longest: float,
    ) -> Work:
        vector, unroll, tile = schedule["vector"], schedule["unroll"], schedule["values_per_block"]
        lanes = RowLanes(feature, vector)
        warps, run = block_threads // WARP_THREADS, tile * lanes.lanes // block_threads
        tiles = max(1, math.ceil(values / tile))
        rows, bags, samples = values / tiles, batch / tiles, max(2.0, batch)
        crosses = tiles > 1  # of most tiles a bag crosses the end
        searches = math.ceil(math.log(samples, block_threads)) if crosses else 0
        # From shared memory come a row, whether a bag ends there, and a weight.
        row = 4 + feature.weighted + costs.pool_instructions(feature, vector)
        scans = (WARP_THREADS // lanes.lanes).bit_length() - 1
        of_warp = (
            80
            + tile / block_threads * (14 + 5 * feature.weighted)
            + lanes.tiles * run / unroll * (unroll * row + 5)
            + lanes.tiles * (vector + 1) * (3 * scans + 2 * warps + 2)
            + crosses * (30 + lanes.tiles * costs.combine_instructions(vector, lanes.lanes))
        )
        of_bag = 20 / WARP_THREADS + lanes.tiles * costs.store_instructions(vector)
        partials = crosses * (4 + 6 * sectors(lanes.partial_bytes()))
        return Work(
            warp_loads=searches + lanes.tiles * math.ceil(min(run, rows) / unroll) + crosses,
            instructions=warps * of_warp + bags * of_bag,
            sectors=(
                bags * costs.sample_sectors(feature, batch, values)
                + searches * min(samples, block_threads)
                + partials
            ),
            barriers=3 + searches + (warps > 1) * (2 * lanes.tiles - 1) + 4 * crosses,
        )

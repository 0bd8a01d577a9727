"""Features with bags of very unequal length: equal shares of the indices for all threads."""

from __future__ import annotations

from sw.compiler.cuda.schedule import Schedule
from sw.compiler.cuda.templates.row_lanes import RowLanes, sectors
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
    registers = 72
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("values_per_block", (128, 256, 512, 1024, 2048), "indices of a tile"),
        Parameter("unroll", (2, 4, 8), "rows of a thread, in flight at once"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        vector, values = schedule["vector"], schedule["values_per_block"]
        if reason := vector_refusal(feature, vector):
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

    def workspace_bytes(
        self, schedule: Schedule, feature: Feature, block_threads: int, batch: int, values: int
    ) -> int:
        """Two partials of every tile, and how many tiles have come."""
        partials = 2 * RowLanes(feature, schedule["vector"]).partial_bytes()
        tiles = max(1, -(-values // schedule["values_per_block"]))
        return tiles * 16 * -(-(partials + 4) // 16)

    def work(
        self,
        schedule: Schedule,
        feature: Feature,
        block_threads: int,
        batch: float,
        values: float,
        longest: float,
    ) -> Work:
        lanes = RowLanes(feature, schedule["vector"])
        tile, unroll = schedule["values_per_block"], schedule["unroll"]
        warps, groups = block_threads // WARP_THREADS, block_threads // lanes.lanes
        tiles = max(1.0, values / tile)
        rows, bags = values / tiles, batch / tiles
        # Bags of which a tile has an end, and the crossing of its own end.
        crossing = 1.0 if tiles > 1 else 0.0
        runs = min(1.0, rows / tile) * tile / groups
        scans = (WARP_THREADS // lanes.lanes).bit_length() - 1
        carry = lanes.tiles * (lanes.vector + 1) * (4 * scans + 2 + 2 * warps)
        search = 2 if batch > block_threads else 1
        return Work(
            warp_loads=lanes.tiles * -(-runs // unroll) + crossing,
            instructions=(
                rows * (lanes.row_instructions() + 3 * lanes.tiles * lanes.lanes / WARP_THREADS)
                + tile / WARP_THREADS * 16
                + bags / WARP_THREADS * 20
                + bags * lanes.store_instructions()
                + warps * (60 + carry + crossing * (30 + lanes.combine_instructions()))
            ),
            sectors=(
                rows * lanes.row_sectors()
                + bags * lanes.sample_sectors()
                + crossing * (4 + 6 * sectors(lanes.partial_bytes()))
                + search * min(batch, block_threads)
            ),
            barriers=4 + search + (warps > 1) * (2 * lanes.tiles - 1) + crossing * 4,
        )


register(ReduceByKey())

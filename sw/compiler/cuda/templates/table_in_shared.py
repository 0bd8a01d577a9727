"""Small tables that a batch looks up many times each: the table in shared memory."""

from __future__ import annotations

import math

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates.costs import (
    combine_instructions,
    mean_length,
    mean_samples,
    round_instructions,
    sample_sectors,
    store_instructions,
)
from gnarl.sw.compiler.cuda.templates.row_lanes import RowLanes, sectors
from gnarl.sw.compiler.cuda.templates.template import BlockCount, Parameter, Template, Work
from gnarl.sw.workloads.embedding.model import Feature

_KIB = 1024
_BANKS_BYTES = 128
"""What shared memory gives a warp at a time."""
_UNROLL = 4
"""Indices of a thread in flight, ``kUnroll``."""
_CONFLICTS = 2
"""Rows at random that share banks, about, where a row does not have all of them."""
_ISSUES_PER_ACCESS = 4
"""Instructions that a multiprocessor issues while its shared memory serves one access."""


class TableInShared(Template):
    """The table in shared memory: for small tables that a batch looks up many times each.

    A block copies the whole table and then pools its samples from there, a few lanes for each; so
    a look-up costs its index and an access to shared memory, and none to the caches. It pays where
    the indices of a block's samples are several times the table's rows. Like any template that
    needs much shared memory it lowers the occupancy of the whole fused kernel. See
    ``gnarl/table_in_shared.cuh``.
    """

    name = "table_in_shared"
    header = "gnarl/table_in_shared.cuh"
    struct = "gnarl::TableInShared"
    registers = 55
    parameters = (
        Parameter(
            "capacity",
            (4, 8, 16, 32, 64, 96, 160, 224),
            "KiB of shared memory for the table, the least that hold it",
        ),
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("threads", (4, 8, 16, 32), "lanes of a sample; rows lie side by side in them"),
        Parameter("samples", (32, 64, 128, 256), "samples that a block takes at a time"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        vector, threads = schedule["vector"], schedule["threads"]
        if reason := self.vector_refusal(feature, vector):
            return reason
        capacities = self.parameters[0].values
        table = feature.rows * feature.row_bytes
        least = next((kib for kib in capacities if table <= kib * _KIB), 0)
        if not least:
            return f"rows = {feature.rows:,}: the table must have at most {capacities[-1]} KiB"
        if schedule["capacity"] != least:
            return f"capacity = {schedule['capacity']}: must be {least}, the least for the table"
        lanes = RowLanes(feature, vector).lanes
        if threads < lanes:
            return f"threads = {threads}: must be at least {lanes}, the lanes of a row"
        side = block_threads // threads
        if schedule["samples"] < side:
            return (
                f"samples = {schedule['samples']}: must be at least {side}, those of one round of "
                f"{threads} threads each"
            )
        return ""

    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        return BlockCount("samples", 1, schedule["samples"])

    def shared_bytes(self, schedule: Schedule, feature: Feature, block_threads: int) -> int:
        """The capacity, whatever the table needs: features of one kind share code."""
        return schedule["capacity"] * _KIB

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
        lanes = RowLanes(feature, vector)
        table, warps = feature.rows * feature.row_bytes, block_threads // WARP_THREADS
        samples = mean_samples(schedule["samples"], batch)
        mean = mean_length(batch, values)
        turns = math.ceil(samples * threads / block_threads)
        round_rows = threads // lanes.lanes * _UNROLL
        # Rows come from shared memory, but their indices still from afar, a round ahead.
        rounds = math.ceil(mean / round_rows)
        waits = max(0, turns - 1) * rounds + math.ceil(longest / round_rows)
        row_bytes = feature.row_bytes
        conflicts = 1 if row_bytes % _BANKS_BYTES == 0 else _CONFLICTS
        accesses = samples * mean * conflicts * row_bytes / _BANKS_BYTES
        of_turn = 20 + lanes.tiles * (
            rounds * round_instructions(feature, vector, _UNROLL)
            + combine_instructions(vector, lanes.lanes, threads)
            + store_instructions(vector)
        )
        return Work(
            warp_loads=1 + lanes.tiles * waits,
            instructions=(
                warps * turns * of_turn
                + table / (16 * WARP_THREADS) * 4
                + accesses * _ISSUES_PER_ACCESS
            ),
            sectors=(
                sectors(table)
                + samples * (sample_sectors(feature, batch, values) - mean * sectors(row_bytes))
            ),
            barriers=1,
        )

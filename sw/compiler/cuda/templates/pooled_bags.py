"""A warp for a bag, or for a few bags side by side."""

from __future__ import annotations

import math

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates import costs
from gnarl.sw.compiler.cuda.templates.template import Parameter
from gnarl.sw.compiler.cuda.templates.warp_template import (
    ROUND_LOADS,
    BagPlaces,
    LongestBag,
    WarpTemplate,
)
from gnarl.sw.workloads.embedding.model import Feature


class PooledBags(WarpTemplate):
    """A warp for a bag, or for a few bags side by side: rows and bags of any length.

    A bag is pooled in rounds of eight loads of each lane, with so many of its rows side by side;
    bags beside it fill the warp. Which bags these are, and what pieces a bag is cut into, changes
    no bit of the result. See ``gnarl/pooled_bags.cuh``.
    """

    name = "pooled_bags"
    header = "gnarl/pooled_bags.cuh"
    struct = "gnarl::PooledBags"
    most_samples = 32
    cuts = True
    parameters = (
        Parameter("vector", (1, 2, 4, 8), "elements of a load"),
        Parameter("rows", (1, 2, 4, 8, 16, 32), "rows of a bag side by side, at most"),
    )

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        if reason := super().refusal(schedule, feature, block_threads):
            return reason
        rows, most = schedule["rows"], self._most_rows(schedule, feature)
        return f"rows = {rows}: must be at most {most}" if rows > most else ""

    def places(self, schedule: Schedule, feature: Feature) -> BagPlaces:
        return BagPlaces.of(feature, schedule["vector"], schedule["rows"])

    def task_work(
        self, schedule: Schedule, feature: Feature, samples: float, longest: LongestBag
    ) -> tuple[float, float]:
        vector, places = schedule["vector"], self.places(schedule, feature)
        items = math.ceil(samples / places.bags)
        slices = math.ceil(feature.dim / (WARP_THREADS * vector))
        length = longest(places.bags)  # of bags side by side
        full, rest = divmod(length, places.round_rows)
        row = 1 + feature.weighted + costs.pool_instructions(feature, vector)
        # The first of a bag's last loads, or all of them beside others, may have rows or not.
        extra = 6 if places.bags > 1 else 1
        loads = rest / places.rows + 0.5
        of_part = loads * (row + extra) + 25 if rest else 0
        of_slice = full * (ROUND_LOADS * row + 8) + of_part + _combine(vector, places.rows) + 15
        rounds = max(1.0, math.ceil(longest(samples) / places.round_rows))
        waits = items * max(1.0, full + (rest > 0)) + rounds - 1
        return 1.5 * slices * waits, 150 + items * (25 + slices * of_slice)

    @staticmethod
    def _most_rows(schedule: Schedule, feature: Feature) -> int:
        return BagPlaces.of(feature, schedule["vector"], 32).rows


def _combine(vector: int, rows: int) -> float:
    """Instructions that combine rows side by side: each step halves what a lane has, down to one
    element."""
    steps = rows.bit_length() - 1
    instructions, held = 0, vector
    for _ in range(steps):
        instructions += 4 * held // 2 + 2 if held > 1 else 5
        held = max(1, held // 2)
    return instructions

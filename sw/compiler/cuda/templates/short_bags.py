"""Bags of an index or so, many of them in a warp."""

from __future__ import annotations

import math

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates import costs
from gnarl.sw.compiler.cuda.templates.template import Parameter
from gnarl.sw.compiler.cuda.templates.warp_template import (
    BagPlaces,
    LongestBag,
    WarpTemplate,
)
from gnarl.sw.workloads.embedding.model import Feature

_MOST_INDICES = 2
"""Of the mean bag that has any."""

_SETS = 4
"""Sets of bags that a warp has in flight: ``kSets``."""


class ShortBags(WarpTemplate):
    """Bags of an index or so: as many side by side as there is room for, in four sets at a time.

    Longer bags are pooled as well, but slowly. See ``gnarl/short_bags.cuh``.
    """

    name = "short_bags"
    header = "gnarl/short_bags.cuh"
    struct = "gnarl::ShortBags"
    step = _SETS
    parameters = (Parameter("vector", (1, 2, 4, 8), "elements of a load"),)

    def suits(self, feature: Feature) -> bool:
        """Not features of more indices, of which a task waits for each by itself."""
        return feature.factors.mean <= _MOST_INDICES

    def places(self, schedule: Schedule, feature: Feature) -> BagPlaces:
        return BagPlaces.of(feature, schedule["vector"], 1)

    def task_work(
        self, schedule: Schedule, feature: Feature, samples: float, longest: LongestBag
    ) -> tuple[float, float]:
        vector, places = schedule["vector"], self.places(schedule, feature)
        turns = math.ceil(samples / (_SETS * places.bags))
        slices = math.ceil(feature.dim / (WARP_THREADS * vector))
        length = math.ceil(longest(_SETS * places.bags))
        row = 6 + feature.weighted + costs.pool_instructions(feature, vector)
        of_set = 16 + slices * (length * row + 10)
        waits = turns * (1 + 2 * slices * length)
        return waits, 150 + turns * (10 + _SETS * of_set)

"""What templates provide whose workers are warps, beside what all provide.

Mirrors ``gnarl/warp_bags.cuh``: how bags lie on the lanes of a warp.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates.costs import mean_length, sample_sectors
from gnarl.sw.compiler.cuda.templates.template import BlockCount, Template, Work
from gnarl.sw.workloads.embedding.model import Feature

ROUND_LOADS = 8
"""Row loads of a lane in a round: ``kRoundLoads``."""

LongestBag = Callable[[float], float]
"""Expected indices of the longest of so many bags."""

TASK_BYTES = 8192
"""Bytes of rows that a task is expected to look up, where a batch has enough of them."""


@dataclass(frozen=True)
class BagPlaces:
    """How bags lie on a warp.

    lanes
        of a row, side by side; a power of two.
    rows
        of a bag, side by side; a power of two.
    bags
        side by side.
    """

    lanes: int
    rows: int
    bags: int

    @classmethod
    def of(cls, feature: Feature, vector: int, rows: int) -> BagPlaces:
        """As many bags as there is room for, with so many rows of each, or as there is room for."""
        lanes = min(WARP_THREADS, 1 << (feature.dim // vector - 1).bit_length())
        room = WARP_THREADS // lanes
        rows = min(rows, room)
        return cls(lanes, rows, room // rows)

    @property
    def round_rows(self) -> int:
        """Rows of a bag in a full round."""
        return ROUND_LOADS * self.rows


class WarpTemplate(Template):
    """One way to pool a feature's bags in warps.

    step
        how many sets of bags side by side a task has at least.
    most_samples
        of a task, 0 for any number.
    cuts
        whether bags may be cut into pieces.
    """

    workers = "warps"
    registers = 74
    step: ClassVar[int] = 1
    most_samples: ClassVar[int] = 0
    cuts: ClassVar[bool] = False

    def code_parameters(self, schedule: Schedule) -> tuple[int, ...]:
        """Values of the parameters that the C++ template has; the others are data."""
        return (schedule["vector"],)

    @abstractmethod
    def places(self, schedule: Schedule, feature: Feature) -> BagPlaces:
        """How the feature's bags lie on a warp."""

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        return self.vector_refusal(feature, schedule["vector"])

    def candidates(self, feature: Feature, block_threads: int) -> Iterator[Schedule]:
        """Those with the widest loads: narrower ones take more instructions, and codes."""
        found = list(super().candidates(feature, block_threads))
        widest = max((schedule["vector"] for schedule in found), default=0)
        return (schedule for schedule in found if schedule["vector"] == widest)

    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        """Of the cost model, to which a block is as many tasks side by side as it has warps."""
        warps = block_threads // WARP_THREADS
        return BlockCount("samples", 1, warps * self.samples(schedule, feature))

    def samples(self, schedule: Schedule, feature: Feature) -> int:
        """Samples of a task of about ``TASK_BYTES``."""
        mean = feature.factors.mean * feature.factors.coverage
        step = self.step * self.places(schedule, feature).bags
        return samples_of_task(step, self.most_samples, mean * feature.row_bytes, TASK_BYTES)

    @abstractmethod
    def task_work(
        self, schedule: Schedule, feature: Feature, samples: float, longest: LongestBag
    ) -> tuple[float, float]:
        """``warp_loads`` and ``instructions``, see ``Work``, of a task of so many samples."""

    def work(
        self,
        schedule: Schedule,
        feature: Feature,
        block_threads: int,
        batch: float,
        values: float,
        longest: float,
    ) -> Work:
        mean = mean_length(batch, values)

        def between(samples: float) -> float:
            return mean if samples <= 1 else longest

        return self.work_of(schedule, feature, block_threads, batch, values, between)

    def work_of(
        self,
        schedule: Schedule,
        feature: Feature,
        block_threads: int,
        batch: float,
        values: float,
        longest: LongestBag,
    ) -> Work:
        """``work``, knowing of any number of bags how long the longest is."""
        blocks = self.parts_of_blocks(schedule, feature, block_threads, batch)
        warps = block_threads // WARP_THREADS
        loads, instructions = self.task_work(schedule, feature, batch / blocks / warps, longest)
        sectors = batch / blocks * sample_sectors(feature, batch, values)
        return Work(loads, warps * instructions, sectors, barriers=0)

    def parts_of_blocks(
        self, schedule: Schedule, feature: Feature, block_threads: int, batch: float
    ) -> float:
        """Blocks, or the part of one, that are full of the batch's tasks: other features' are in
        the rest."""
        tasks = max(1, math.ceil(batch / self.samples(schedule, feature)))
        return tasks * WARP_THREADS / block_threads


def samples_of_task(step: int, most: int, bag_bytes: float, task_bytes: float) -> int:
    """A multiple of ``step``: as many samples as have so many bytes, at least one step, at most
    ``most`` if that is not 0."""
    steps = max(1, math.floor(task_bytes / (max(bag_bytes, 4.0) * step)))
    if most:
        steps = min(steps, max(1, most // step))
    return step * min(steps, 65_535 // step)

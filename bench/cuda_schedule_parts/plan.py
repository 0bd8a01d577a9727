"""The design with warps as workers: a batch cut into tasks, by the model's factors and its size.

A task is a run of a feature's samples, or a part of one bag. Both follow from the size of the batch
alone: samples so that a task is expected to look up so many bytes, and parts so that a bag that few
exceed has so many in each. Parts are equal shares of the rounds that a bag has, or of
fewer loads where tasks are small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from bench.cuda_schedule_parts.device import MULTIPROCESSORS
from bench.cuda_schedule_parts.engine import Dealt
from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from gnarl.sw.workloads.embedding.statistics import FeatureStatistics, from_factors

WARPS = 20
"""Of a multiprocessor."""
ROUND_LOADS = 8
VECTOR_BYTES = 16
"""Loads of a lane in a round, and what each has."""
ROUND_BYTES = ROUND_LOADS * VECTOR_BYTES * WARP_THREADS
LEAST_BYTES, MOST_BYTES = ROUND_BYTES // 4, 4 * ROUND_BYTES
_TASKS_OF_WARP = 6
_SMALL_BATCH = 1.5
_WHOLES_OF_TASK = 4
_DEVIATIONS = 1.3
"""A tenth of normally distributed bags are longer by so many."""
_COMMON = 0.25
"""Share of the tasks that all multiprocessors take from one counter."""


@dataclass(frozen=True)
class Places:
    """How bags lie on a warp: lanes of a row, rows of a bag and bags side by side; and how many
    loads of a lane are not cut."""

    lanes: int
    rows: int
    bags: int
    loads: int

    @property
    def whole_rows(self) -> int:
        """Rows of a bag that are not cut."""
        return self.loads * self.rows

    @classmethod
    def of(cls, feature: Feature, statistics: FeatureStatistics, task_bytes: float) -> Places:
        """As many rows side by side as leave bags of mean length a round, and tasks, too."""
        lanes = min(WARP_THREADS, 1 << (max(1, feature.row_bytes // VECTOR_BYTES) - 1).bit_length())
        room = WARP_THREADS // lanes
        mean = statistics.mean / (statistics.coverage or 1.0)
        of_task = max(1.0, min(mean, task_bytes / feature.row_bytes) / ROUND_LOADS)
        rows = min(room, 1 << math.ceil(math.log2(of_task)))
        of_whole = task_bytes / (_WHOLES_OF_TASK * rows * feature.row_bytes)
        loads = 1 << int(math.log2(max(1.0, of_whole)))
        return cls(lanes, rows, room // rows, min(ROUND_LOADS, loads))


@dataclass(frozen=True)
class Cut:
    """How a feature is cut: samples of a task, parts of a bag, and bytes that a task is expected to
    look up."""

    samples: int
    parts: int
    bytes: float


@dataclass(frozen=True)
class Plan:
    """The tasks of a batch.

    cuts, places
        of each feature.
    order
        features, those with the largest tasks first.
    """

    batch: int
    cuts: tuple[Cut, ...]
    places: tuple[Places, ...]
    order: tuple[int, ...]


def make_plan(model: EmbeddingModel, batch: int, task_bytes: float | None = None) -> Plan:
    """Cuts a batch of so many samples; ``task_bytes``: instead of what fits its size."""
    statistics = [_statistics(feature.factors) for feature in model.features]
    if task_bytes is None:
        task_bytes = task_bytes_of(model, statistics, batch)
    cuts = [
        _cut(feature, known, batch, task_bytes)
        for feature, known in zip(model.features, statistics, strict=True)
    ]
    places = [
        Places.of(feature, known, task_bytes)
        for feature, known in zip(model.features, statistics, strict=True)
    ]
    order = sorted(range(len(cuts)), key=lambda number: (-cuts[number].bytes, number))
    return Plan(batch, tuple(cuts), tuple(places), tuple(order))


def task_bytes_of(
    model: EmbeddingModel, statistics: Sequence[FeatureStatistics], batch: int
) -> float:
    """What a task is to look up: a quarter of a round to four rounds, of a warp's share a sixth
    at least, or a round if that is less than its share."""
    of_batch = batch * sum(
        known.mean * feature.row_bytes
        for feature, known in zip(model.features, statistics, strict=True)
    )
    of_warp = of_batch / (MULTIPROCESSORS * WARPS)
    wanted = max(of_warp / _TASKS_OF_WARP, min(_SMALL_BATCH * of_warp, ROUND_BYTES))
    return _power_of_two(min(max(wanted, LEAST_BYTES), MOST_BYTES))


def count_tasks(plan: Plan) -> np.ndarray:
    """Tasks of each feature, in the plan's order: int64 [features]."""
    cuts = [plan.cuts[number] for number in plan.order]
    return np.array([-(-plan.batch // cut.samples) * cut.parts for cut in cuts])


def deal(tasks: int, *, common: float = _COMMON, run: int | None = None) -> Dealt:
    """Runs of neighbours to each multiprocessor in turn, and the last ``common`` share to all.

    ``run``: tasks of a run; by default 1 to 16, the more the more a warp has.
    """
    if run is None:
        of_warp = tasks / (MULTIPROCESSORS * WARPS)
        run = 1 if of_warp < 4 else 8 if of_warp < 24 else 16
    turns = int(tasks * (1 - common)) // (run * MULTIPROCESSORS)
    dealt = turns * run * MULTIPROCESSORS
    queue = np.arange(dealt).reshape(turns, MULTIPROCESSORS, run).swapaxes(0, 1).ravel()
    ends = np.arange(1, MULTIPROCESSORS + 1) * turns * run
    return Dealt(home(), queue, ends, np.arange(dealt, tasks))


def home() -> np.ndarray:
    """The multiprocessor of each warp: int64 [warps]."""
    return np.arange(MULTIPROCESSORS * WARPS) % MULTIPROCESSORS


_statistics = cache(from_factors)


def _cut(feature: Feature, known: FeatureStatistics, batch: int, task_bytes: float) -> Cut:
    bag_bytes = max(1.0, known.mean * feature.row_bytes)
    samples = 1
    while samples < batch and 2 * samples * bag_bytes <= math.sqrt(2) * task_bytes:
        samples *= 2
    parts = 1
    if samples == 1 and task_bytes < MOST_BYTES:
        long_bytes = _long_bag(known) * feature.row_bytes
        parts = max(1, int(_power_of_two(long_bytes / task_bytes)))
    return Cut(samples, parts, samples * bag_bytes / parts)


def _long_bag(known: FeatureStatistics) -> float:
    """About what a tenth of the bags that are not empty exceed."""
    if known.coverage == 0:
        return 0.0
    mean = known.mean / known.coverage
    variance = (known.std**2 + known.mean**2) / known.coverage - mean**2
    return min(mean + _DEVIATIONS * math.sqrt(max(0.0, variance)), known.longest)


def _power_of_two(value: float) -> float:
    """The nearest one, by ratio."""
    return 2.0 ** round(math.log2(value)) if value > 0 else 1.0

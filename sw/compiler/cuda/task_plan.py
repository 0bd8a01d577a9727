"""What the warps of a fused kernel do with a batch: tasks, by arithmetic on classes of features.

A plan depends on the size of the batch and on the grid alone, so that it is made once for each
size; the kernel gets it in its parameters. ``gnarl/warp_tasks.cuh`` says how warps read it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.layouts import TASK, TASK_CLASS, TASK_PLAN_HEAD
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.compiler.cuda.templates.warp_template import (
    BagPlaces,
    WarpTemplate,
    samples_of_task,
)
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature

LEAST_TASK_BYTES, MOST_TASK_BYTES = 2048, 32_768
"""Bytes that tasks are expected to move: the fewer the fewer a warp has in all."""

MAXIMUM_COUNTERS = 1 << 16
"""Sets of bags of a batch that may be cut into pieces."""

MAXIMUM_WORKSPACE = 128 << 20
"""Bytes of partials of a batch: bags whose partials would take more are not cut."""

MAXIMUM_TASKS = 2**31 - 1

_TASKS_OF_WARP = 4
"""Tasks that a warp is to have, if they need not be smaller than the least for it."""

INDEX_BYTES = 4

_ROUND_BYTES = 4096
"""About what a full round looks up."""

_FEW_CLASSES, _MOST_CLASSES = 120, 1000
"""As many as fit in 4 KB, and as parameters of a kernel have room for, 32,764 bytes."""

PARAMETER_BYTES = TASK_PLAN_HEAD.itemsize + _FEW_CLASSES * TASK_CLASS.itemsize
"""Of a plan, but for those with many classes."""

_LONG = 1.28
"""Standard deviations above the mean that one of ten bags exceeds."""

_PARTIAL_UNIT = 128
"""Bytes, in which a class's ``partials`` counts."""


@dataclass(frozen=True)
class FeatureClass:
    """Features, side by side in a kernel's table of them, that one code computes in equal tasks.

    first, count
        the place of the first, and how many there are.
    step, most_samples, cuts
        see ``WarpTemplate``; ``step`` is in samples.
    bags
        side by side; a power of two.
    bag_bytes
        bytes that a bag is expected to move: rows, indices, an offset, outputs.
    mean_rounds, long_rounds
        rounds of a bag that has indices; of one that is longer than nine of ten.
    rounds
        of the longest bag that is expected; a power of two.
    slices
        log2 of those that rows are cut into.
    round_partial
        bytes that a slice of a round of bags side by side leaves of them.
    """

    code: int
    first: int
    count: int
    step: int
    bags: int
    most_samples: int
    cuts: bool
    bag_bytes: float
    mean_rounds: float
    long_rounds: float
    rounds: int
    slices: int
    round_partial: int


@dataclass(frozen=True)
class TaskLayout:
    """The features of a kernel in the order of its table of them, by number, and their classes."""

    order: tuple[int, ...]
    classes: tuple[FeatureClass, ...]

    @cached_property
    def bytes_of_sample(self) -> float:
        """Bytes that a sample is expected to move."""
        return sum(each.count * each.bag_bytes for each in self.classes)


@dataclass(frozen=True)
class TaskPlan:
    """A batch's tasks.

    classes
        ``TASK_CLASS`` [classes].
    tasks, dealt, run
        fields of ``TaskPlan`` in ``warp_tasks.cuh``.
    workspace
        bytes that partials of pieces take.
    counters
        of bags that are cut.
    """

    classes: np.ndarray
    tasks: int
    dealt: int
    run: int
    workspace: int
    counters: int

    def parameter(self, warps: int) -> np.ndarray:
        """uint8: the parameter of a kernel of so many warps in all: any number does all tasks."""
        wrap = self.tasks - self.dealt + warps - 1
        head = np.array([(self.tasks, self.dealt, self.run, wrap)], TASK_PLAN_HEAD)
        return np.concatenate([head.view(np.uint8), self.classes.view(np.uint8)])


def lay_out_tasks(
    model: EmbeddingModel, schedules: ScheduleSet, code_of_feature: Sequence[int]
) -> TaskLayout:
    """Features of one code whose bags are about as large, and may be about as long, are a class.

    Raises ``CapacityError`` where there are more classes than a kernel's parameters hold.
    """
    traits = [
        _traits(model, schedules, code, number) for number, code in enumerate(code_of_feature)
    ]
    for coarse in range(3):
        keys = [_key(each, coarse) for each in traits]
        if len(set(keys)) <= _FEW_CLASSES:
            break
    order = sorted(range(len(keys)), key=lambda number: (keys[number], number))
    classes: list[FeatureClass] = []
    begin = 0
    for place, number in enumerate(order):
        if place + 1 == len(order) or keys[order[place + 1]] != keys[number]:
            classes.append(_class_of([traits[each] for each in order[begin : place + 1]], begin))
            begin = place + 1
    if len(classes) > _MOST_CLASSES:
        raise CapacityError(
            f"model {model.name}: {len(classes)} codes: must be at most {_MOST_CLASSES}"
        )
    return TaskLayout(tuple(order), tuple(classes))


def _traits(model: EmbeddingModel, schedules: ScheduleSet, code: int, number: int) -> FeatureClass:
    """The class that the feature would be by itself."""
    feature, schedule = model.features[number], schedules.schedule(number)
    kind = template(schedule.template)
    assert isinstance(kind, WarpTemplate)
    places: BagPlaces = kind.places(schedule, feature)
    factors = feature.factors
    rounds = max(1, math.ceil(factors.limit / places.round_rows))
    slices = max(1, math.ceil(feature.dim / (WARP_THREADS * schedule["vector"])))
    return FeatureClass(
        code=code,
        first=number,
        count=1,
        step=kind.step * places.bags,
        bags=places.bags,
        most_samples=kind.most_samples,
        cuts=kind.cuts,
        bag_bytes=_bag_bytes(feature),
        mean_rounds=factors.mean / places.round_rows,
        long_rounds=min(factors.limit, factors.mean + _LONG * factors.std) / places.round_rows,
        rounds=1 << (rounds - 1).bit_length(),
        slices=(slices - 1).bit_length(),
        round_partial=WARP_THREADS * schedule["vector"] * 4,
    )


def _bag_bytes(feature: Feature) -> float:
    indices = feature.factors.mean * feature.factors.coverage
    of_index = feature.row_bytes + INDEX_BYTES * (1 + feature.weighted)
    return indices * of_index + INDEX_BYTES + feature.output_bytes


def _key(each: FeatureClass, coarse: int) -> tuple[int, ...]:
    """Equal for what may be of one class; ``coarse``: 0 to 2, from many classes to few."""
    size = round(math.log2(max(1.0, each.bag_bytes)))
    length = each.rounds.bit_length()
    alike = (each.code, each.step, each.bags, each.slices)
    return (*alike, *((size, length), (size // 3, length // 3), ())[coarse])


def _class_of(members: Sequence[FeatureClass], first: int) -> FeatureClass:
    return replace(
        members[0],
        first=first,
        count=len(members),
        bag_bytes=sum(each.bag_bytes for each in members) / len(members),
        mean_rounds=max(each.mean_rounds for each in members),
        long_rounds=max(each.long_rounds for each in members),
        rounds=max(each.rounds for each in members),
    )


def plan_tasks(layout: TaskLayout, batch: int, blocks: int, block_threads: int) -> TaskPlan:
    """Cuts a batch of so many samples into tasks that suit a grid of so many blocks.

    Classes whose tasks may be largest come first. Raises ``CapacityError`` for more tasks than can
    be numbered.
    """
    warps = blocks * (block_threads // WARP_THREADS)
    of_warp = layout.bytes_of_sample * batch / warps
    shapes = [_shape(each, batch, _task_bytes(of_warp), of_warp) for each in layout.classes]
    shapes.sort(key=lambda shape: -shape.most_bytes)
    rows = np.zeros(len(shapes), TASK_CLASS)
    tasks = counters = workspace = 0
    for row, shape in zip(rows, shapes, strict=True):
        own = shape.of
        items = -(-batch // shape.samples)
        cut = own.count * items << own.slices
        partials = cut * own.rounds * own.round_partial
        is_too_much = counters + cut > MAXIMUM_COUNTERS or workspace + partials > MAXIMUM_WORKSPACE
        if shape.pieces and is_too_much:
            shape = replace(shape, pieces=0)
        of_feature = items << own.slices + shape.pieces
        if tasks + own.count * of_feature > MAXIMUM_TASKS:
            raise CapacityError(
                f"tasks of a batch of {batch:,} samples: must be at most {MAXIMUM_TASKS:,}"
            )
        row["begin"], row["first"] = tasks, own.first
        row["of_feature"] = max(1, of_feature)
        row["reciprocal"] = min((1 << 32) // max(1, of_feature), (1 << 32) - 1)
        row["code"], row["samples"] = own.code, shape.samples
        row["slices"], row["pieces"], row["spread"] = own.slices, shape.pieces, shape.spread
        tasks += own.count * of_feature
        if shape.pieces:
            row["rounds"] = own.rounds.bit_length() - 1
            row["partials"], row["counters"] = workspace // _PARTIAL_UNIT, counters
            counters += cut
            workspace += partials
    run = _run(tasks / warps)
    dealt = tasks * 3 // 4 // (blocks << run) * (blocks << run)
    return TaskPlan(rows, tasks, dealt, run, workspace, counters)


@dataclass(frozen=True)
class _Shape:
    """Tasks of a class: samples of each, log2 of pieces of a bag and of how many times as many rows
    of a bag are side by side, and bytes that a task may move, where bags are long."""

    of: FeatureClass
    samples: int
    pieces: int
    spread: int
    most_bytes: float


def _task_bytes(of_warp: float) -> float:
    """What tasks are to look up where a warp has so many bytes in all."""
    wanted = max(of_warp / _TASKS_OF_WARP, LEAST_TASK_BYTES)
    return min(2.0 ** round(math.log2(wanted)), MOST_TASK_BYTES)


def _shape(of: FeatureClass, batch: int, task_bytes: float, of_warp: float) -> _Shape:
    """Bags side by side are cut where they may be more than what a warp has in all. Where the batch
    has fewer bags than there is room for, more rows of each are side by side instead."""
    spread = 0
    if of.cuts:
        spread = max(0, of.bags.bit_length() - max(1, batch).bit_length())
        of = _spread(of, spread)
    long_bytes = of.long_rounds * _ROUND_BYTES
    if of.cuts and long_bytes > max(task_bytes, of_warp):
        # No more pieces than the mean bag has rounds: others would have nothing to do. That costs
        # nothing where there are more warps than work.
        is_short = 2 * of_warp < LEAST_TASK_BYTES
        wanted = of.rounds if is_short else min(of.mean_rounds, long_bytes / task_bytes)
        pieces = min(of.rounds.bit_length() - 1, math.ceil(math.log2(max(1.0, wanted))))
        if pieces > 0:
            return _Shape(of, of.step, pieces, spread, long_bytes / (1 << pieces))
    samples = samples_of_task(of.step, of.most_samples, of.bag_bytes, task_bytes)
    samples = min(samples, of.step * max(1, -(-batch // of.step)))
    expected = min(samples, batch) * of.bag_bytes
    return _Shape(of, samples, 0, spread, max(expected, long_bytes))


def _spread(of: FeatureClass, spread: int) -> FeatureClass:
    """The class with 2^spread times as many rows of a bag side by side, and so many fewer bags."""
    return replace(
        of,
        step=of.step >> spread,
        bags=of.bags >> spread,
        mean_rounds=of.mean_rounds / (1 << spread),
        long_rounds=of.long_rounds / (1 << spread),
        rounds=max(1, of.rounds >> spread),
    )


def _run(tasks_of_warp: float) -> int:
    """log2 of the length of runs: neighbours share a first-level cache, and the fewer runs there
    are the less even are they dealt."""
    if tasks_of_warp < 4:
        return 0
    return 3 if tasks_of_warp < 16 else 4


def task_features(layout: TaskLayout, plan: TaskPlan) -> np.ndarray:
    """``TASK`` [tasks]: which feature each is of, and its number among the feature's."""
    found = np.empty(plan.tasks, TASK)
    ends = np.append(plan.classes["begin"][1:], plan.tasks)
    order = np.array(layout.order, np.int32)
    for row, end in zip(plan.classes, ends, strict=True):
        numbers = np.arange(end - row["begin"])
        of_feature = int(row["of_feature"])
        places = int(row["first"]) + numbers // of_feature
        found["feature"][row["begin"] : end] = order[places]
        found["block"][row["begin"] : end] = numbers % of_feature
    return found

"""Today's design as tasks: blocks of the schedules' templates, and queues of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.cuda_schedule_parts.device import MULTIPROCESSORS
from bench.cuda_schedule_parts.engine import Dealt
from bench.cuda_schedule_parts.lookups import FETCH_BYTES, Caches
from gnarl.sw.compiler.cuda.architectures import SECTOR_BYTES, WARP_THREADS
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature

INDEX_BYTES = 4


@dataclass(frozen=True)
class BlockWork:
    """What blocks do: arrays [blocks], in the order of the map.

    feature
        whose block each is.
    rounds, barriers, instructions
        as ``Work`` has them, of the block's own bags.
    longest
        instructions of the warp with most.
    fresh
        whether no task of its feature is before it on its multiprocessor: 1 or 0.
    bytes
        of rows, indices, offsets and outputs, each once for every look-up.
    l2, memory
        of them, in whole sectors, what crosses the L2 cache, and what comes from memory.
    requests, misses
        rows that cross the L2 cache, and that come from memory.
    """

    feature: np.ndarray
    rounds: np.ndarray
    barriers: np.ndarray
    instructions: np.ndarray
    longest: np.ndarray
    fresh: np.ndarray
    bytes: np.ndarray
    l2: np.ndarray
    memory: np.ndarray
    requests: np.ndarray
    misses: np.ndarray

    def __len__(self) -> int:
        return len(self.feature)


def block_work(model: EmbeddingModel, schedules: ScheduleSet, batch: Batch) -> BlockWork:
    """By the templates' own counts, each block with its own bags. O(indices)."""
    cuts = [
        _cut(model.features[number], schedules, number, inputs.offsets.astype(np.int64))
        for number, inputs in enumerate(batch.features)
    ]
    ends = np.cumsum([len(cut.first) for cut in cuts])
    where = home_of(int(ends[-1]), grid_blocks(schedules))
    caches = Caches(model)
    known: dict[tuple[object, ...], tuple[float, ...]] = {}
    columns = []
    for number, (feature, inputs) in enumerate(zip(model.features, batch.features, strict=True)):
        cut = cuts[number]
        own = where[ends[number] - len(cut.first) : ends[number]]
        l2, memory = caches.look_up(feature.row_bytes, inputs.indices, cut.first, cut.last, own)
        rounds, barriers, instructions, longest = _works(feature, schedules, number, cut, known)
        values = cut.last - cut.first
        besides = INDEX_BYTES * (values + cut.outputs) + feature.output_bytes * cut.outputs
        columns.append(
            (
                np.full(len(values), number),
                rounds,
                barriers,
                instructions,
                longest,
                np.diff(own, prepend=-1) != 0,
                values * feature.row_bytes + besides,
                l2 + besides,
                memory + besides,
                l2 / max(SECTOR_BYTES, feature.row_bytes),
                memory / max(FETCH_BYTES, feature.row_bytes),
            )
        )
    return BlockWork(*map(np.concatenate, zip(*columns, strict=True)))


@dataclass(frozen=True)
class _Cut:
    """A feature's blocks: int64 [blocks].

    first, last
        where their indices begin and end.
    samples, values, longest
        what ``Template.work`` is asked about.
    outputs
        samples whose offsets and outputs they move.
    """

    first: np.ndarray
    last: np.ndarray
    samples: np.ndarray
    values: np.ndarray
    longest: np.ndarray
    outputs: np.ndarray


def _cut(feature: Feature, schedules: ScheduleSet, number: int, offsets: np.ndarray) -> _Cut:
    schedule = schedules.schedule(number)
    count = template(schedule.template).block_count(schedule, feature, schedules.block_threads)
    lengths = np.diff(offsets)
    if count.units == "values":
        first = np.arange(0, max(1, offsets[-1]), count.denominator)
        last = np.minimum(first + count.denominator, offsets[-1])
        outputs = np.diff(np.searchsorted(offsets[1:], last, side="right"), prepend=0)
        longest = np.minimum(lengths.max(), last - first)
        return _Cut(first, last, np.maximum(1, outputs), last - first, longest, outputs)
    begin = np.arange(0, len(lengths), count.denominator)
    end = np.minimum(begin + count.denominator, len(lengths))
    samples, values = end - begin, offsets[end] - offsets[begin]
    longest = np.maximum.reduceat(lengths, begin)
    parts = np.arange(count.numerator)
    bounds = offsets[begin][:, None] + values[:, None] * (parts + [[0], [1]])[:, None] // len(parts)
    again = len(parts)
    return _Cut(
        bounds[0].ravel(),
        bounds[1].ravel(),
        np.repeat(samples, again),
        np.repeat(values, again),
        np.repeat(longest, again),
        np.where(np.tile(parts, len(begin)) == 0, np.repeat(samples, again), 0),
    )


def _works(
    feature: Feature,
    schedules: ScheduleSet,
    number: int,
    cut: _Cut,
    known: dict[tuple[object, ...], tuple[float, ...]],
) -> np.ndarray:
    """``_work`` of all blocks, float64 [4, blocks]; ``known``: what has been asked before."""
    schedule, kind = schedules.schedule(number), feature.kind
    found = []
    for each in zip(cut.samples.tolist(), cut.values.tolist(), cut.longest.tolist(), strict=True):
        key = (kind, schedule, *each)
        if key not in known:
            known[key] = _work(feature, schedules, schedule, *each)
        found.append(known[key])
    return np.array(found, np.float64).T


def _work(
    feature: Feature,
    schedules: ScheduleSet,
    schedule: Schedule,
    samples: int,
    values: int,
    longest: int,
) -> tuple[float, float, float, float]:
    """Rounds, barriers and instructions of a block, and instructions of its longest warp: that has
    the longest bag, and others of mean length."""
    kind, threads = template(schedule.template), schedules.block_threads
    work = kind.work(schedule, feature, threads, samples, values, longest)
    warps = active = warps_of(schedules)
    if schedule.template == "warp_per_sample":
        active = min(warps, samples)
    elif schedule.template == "sub_warp_per_sample":
        active = min(warps, -(-samples * schedule["threads"] // WARP_THREADS))
    more = values + active * (longest - values / samples)
    critical = kind.work(schedule, feature, threads, samples, more, longest).instructions / active
    return work.warp_loads, work.barriers, work.instructions, critical


def grid_blocks(schedules: ScheduleSet) -> int:
    """Blocks that stay."""
    return schedules.blocks_per_sm * MULTIPROCESSORS


def warps_of(schedules: ScheduleSet) -> int:
    """Warps of a block."""
    return schedules.block_threads // WARP_THREADS


def home_of(tasks: int, grid: int) -> np.ndarray:
    """The multiprocessors that contiguous tasks are for: int64 [tasks]."""
    where = np.empty(tasks, np.int64)
    dealt = deal(tasks, grid)
    begin = 0
    for queue, end in enumerate(dealt.ends):
        where[dealt.queue[begin:end]] = queue
        begin = end
    return where


def deal(tasks: int, grid: int, steal_us: float = 0.0) -> Dealt:
    """As ``gnarl/task_queue.cuh`` does: a first task for each block, neighbours on a
    multiprocessor; the others in queues of neighbours, a multiprocessor's each, with stealing."""
    turns = grid // MULTIPROCESSORS
    per_queue = max(0, -(-(tasks - grid) // MULTIPROCESSORS))
    queue, ends = [], []
    for at in range(MULTIPROCESSORS):
        first = np.arange(at * turns, (at + 1) * turns)
        begin = grid + at * per_queue
        others = np.arange(begin, begin + per_queue)
        own = np.concatenate([first, others])
        queue.append(own[own < tasks])
        ends.append(len(queue[-1]))
    home = np.arange(grid) % MULTIPROCESSORS
    return Dealt(home, np.concatenate(queue), np.cumsum(ends), steal=True, steal_us=steal_us)

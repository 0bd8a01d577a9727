"""The kernel's own plan of a batch as tasks: what warps do with it, as ``gnarl/warp_tasks.cuh``
has it."""

from __future__ import annotations

import numpy as np

from bench.cuda_schedule_parts.device import MULTIPROCESSORS
from bench.cuda_schedule_parts.engine import Dealt
from bench.cuda_schedule_parts.lookups import FETCH_BYTES, Caches
from bench.cuda_schedule_parts.today import INDEX_BYTES
from bench.cuda_schedule_parts.warps import WarpWork
from gnarl.sw.compiler.cuda.architectures import SECTOR_BYTES, WARP_THREADS
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.task_plan import TaskPlan
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.compiler.cuda.templates.warp_template import ROUND_LOADS, BagPlaces, WarpTemplate
from gnarl.sw.workloads.embedding.model import Batch


def deal(plan: TaskPlan, blocks_per_sm: int, block_threads: int) -> Dealt:
    """Runs of neighbours to each block in turn; what is not dealt to all."""
    blocks, run = blocks_per_sm * MULTIPROCESSORS, 1 << plan.run
    turns = plan.dealt // (run * blocks)
    queue = np.arange(plan.dealt).reshape(turns, blocks, run).swapaxes(0, 1).ravel()
    warps = block_threads // WARP_THREADS
    numbers = np.arange(blocks * warps)
    # Worker w is on multiprocessor w % MULTIPROCESSORS, as block b is on b % MULTIPROCESSORS.
    home = numbers // (MULTIPROCESSORS * warps) * MULTIPROCESSORS + numbers % MULTIPROCESSORS
    ends = np.arange(1, blocks + 1) * turns * run
    return Dealt(home, queue, ends, np.arange(plan.dealt, plan.tasks))


def plan_work(program: EmbeddingProgram, plan: TaskPlan, batch: Batch, dealt: Dealt) -> WarpWork:
    """What each task of the plan does."""
    layout = program.kernel.layout
    assert layout is not None
    where = np.arange(plan.tasks) % MULTIPROCESSORS
    block = np.searchsorted(dealt.ends, np.arange(len(dealt.queue)), side="right")
    where[dealt.queue] = block % MULTIPROCESSORS
    caches = Caches(program.model)
    columns = []
    for row in plan.classes:
        count = next(each.count for each in layout.classes if each.first == row["first"])
        for place in range(count):
            number = layout.order[int(row["first"]) + place]
            begin = int(row["begin"]) + place * int(row["of_feature"])
            own = where[begin : begin + int(row["of_feature"])]
            columns.append(_sliced(program, number, row, batch, own, caches))
    return WarpWork(*map(np.concatenate, zip(*columns, strict=True)))


def _sliced(
    program: EmbeddingProgram,
    number: int,
    row: np.void,
    batch: Batch,
    where: np.ndarray,
    caches: Caches,
) -> tuple[np.ndarray, ...]:
    """Columns of ``WarpWork`` of one feature: slices of rows are between samples and pieces."""
    slices, pieces = 1 << int(row["slices"]), 1 << int(row["pieces"])
    places = where.reshape(-1, slices, pieces)
    of_slices = [
        _tasks(program, number, row, batch, places[:, each].ravel(), caches, slices)
        for each in range(slices)
    ]
    return tuple(
        np.stack([each.reshape(-1, pieces) for each in column], axis=1).ravel()
        for column in zip(*of_slices, strict=True)
    )


def _tasks(
    program: EmbeddingProgram,
    number: int,
    row: np.void,
    batch: Batch,
    where: np.ndarray,
    caches: Caches,
    slices: int,
) -> tuple[np.ndarray, ...]:
    """Columns of ``WarpWork`` of one of so many slices of a feature's rows."""
    feature, inputs = program.model.features[number], batch.features[number]
    schedule = program.schedules.schedule(number)
    kind = template(schedule.template)
    assert isinstance(kind, WarpTemplate)
    row_bytes = feature.row_bytes // slices
    places = kind.places(schedule, feature)
    offsets = inputs.offsets.astype(np.int64)
    samples, pieces = int(row["samples"]), 1 << int(row["pieces"])
    begin = np.arange(0, batch.size, samples)
    end = np.minimum(begin + samples, batch.size)
    partials: np.ndarray = np.zeros(len(begin) * pieces)
    if pieces == 1:
        first, last, task = offsets[begin], offsets[end], np.arange(len(begin))
        loads, rounds, sets = _whole(np.diff(offsets), samples, places, kind.step)
    else:
        first, last, task = _pieces(offsets, samples, pieces, places)
        longest = np.zeros(len(begin) * pieces, np.int64)
        np.maximum.at(longest, task, last - first)
        loads = -(-longest // places.rows)
        rounds = -(-loads // ROUND_LOADS)
        sets = np.ones(len(longest))
        partials = 2.0 * rounds * WARP_THREADS * 16
    count = len(begin) * pieces
    l2, memory = caches.look_up(row_bytes, inputs.indices, first, last, where[task])
    l2, memory, values = (
        np.bincount(task, weights=each, minlength=count) for each in (l2, memory, last - first)
    )
    outputs = np.where(np.arange(count) % pieces == 0, np.repeat(end - begin, pieces), 0)
    offsets_read = np.repeat(end - begin, pieces)
    besides = INDEX_BYTES * (values + offsets_read) + feature.output_bytes // slices * outputs
    return (
        np.full(count, number),
        rounds.astype(np.float64),
        loads.astype(np.float64),
        np.asarray(sets, np.float64),
        values * row_bytes + besides,
        l2 + besides + partials,
        memory + besides,
        l2 / max(SECTOR_BYTES, row_bytes),
        memory / max(FETCH_BYTES, row_bytes),
    )


def _pieces(
    offsets: np.ndarray, samples: int, pieces: int, places: BagPlaces
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where indices of each bag's piece begin and end, and the task."""
    lengths = np.diff(offsets)
    sample = np.arange(len(lengths))
    item = sample // samples
    rounds = np.maximum.reduceat(-(-lengths // places.round_rows), np.unique(item) * samples)
    piece = np.arange(pieces)
    bounds = [
        offsets[:-1][:, None]
        + np.minimum(
            lengths[:, None], (rounds[item][:, None] * (piece + more) // pieces) * places.round_rows
        )
        for more in (0, 1)
    ]
    task = item[:, None] * pieces + piece
    return bounds[0].ravel(), bounds[1].ravel(), task.ravel()


def _whole(
    lengths: np.ndarray, samples: int, places: BagPlaces, step: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Loads of a lane, rounds and sets of bags side by side; ``step`` sets are in flight."""
    sets = -(-samples // places.bags)
    tasks = -(-len(lengths) // samples)
    padded = np.zeros((tasks, sets * places.bags), np.int64)
    whole = np.zeros(tasks * samples, np.int64)
    whole[: len(lengths)] = lengths
    padded[:, :samples] = whole.reshape(tasks, samples)
    longest = padded.reshape(tasks, sets, places.bags).max(axis=2)
    used = -(-np.minimum(samples, len(lengths) - samples * np.arange(tasks)) // places.bags)
    if step > 1:  # short bags: a load of each set at a time
        turns = -(-sets // step)
        aside = np.zeros((tasks, turns * step), np.int64)
        aside[:, :sets] = longest
        return longest.sum(axis=1), aside.reshape(tasks, turns, step).max(axis=2).sum(axis=1), used
    loads = -(-longest // places.rows)
    return loads.sum(axis=1), (-(-loads // ROUND_LOADS)).sum(axis=1), used

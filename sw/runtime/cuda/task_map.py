"""Thread mapping on the host: which block works on which feature (RecFlex, IV-B and VI-D).

Native loops: NumPy takes 3 times as long for 1,000 blocks and 5 to 15 times for 20,000 and more,
whose arrays of intermediate results leave the caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit

from hw.lib.errors import CapacityError
from sw.compiler.cuda.layouts import TASK

MAXIMUM_GRID = 2**31 - 1

PLACES = 1024
"""Of an interleaved grid: far more than waves, and few enough for a cache."""

_FRACTION = 32
_END = PLACES << _FRACTION
"""The end of the grid, in the numbers that places are computed with."""

_BLOCK = 1 << 32
"""A task as one number: feature + _BLOCK * block, on hosts that have low bytes first."""


@dataclass(frozen=True)
class TaskMap:
    """The grid of one launch.

    tasks
        ``TASK`` [grid]: each block's feature, and its number among that feature's blocks.
    feature_blocks
        int32 [features]: blocks of each feature.
    """

    tasks: np.ndarray
    feature_blocks: np.ndarray


Mapping = TaskMap | Literal["device"] | None
"""Of a launch: made before; made on the device; or, ``None``, on the host."""


def map_tasks(
    counts: np.ndarray,
    batch: int,
    values: np.ndarray,
    order: str = "contiguous",
) -> TaskMap:
    """As many blocks for each feature as its schedule wants for a batch.

    counts
        ``BLOCK_COUNT`` [features].
    batch, values
        the batch's samples; int64 [features], its indices of each feature.
    order
        as ``arrange`` has it, of blocks that cost the same.

    Raises ``CapacityError`` for a grid beyond what CUDA allows.
    """
    blocks, grid = count_blocks(counts, batch, values)
    return _arrange(blocks, grid, order, None)


def count_blocks(counts: np.ndarray, batch: int, values: np.ndarray) -> tuple[np.ndarray, int]:
    """int32 [features], and their sum: the blocks that ``map_tasks`` gives each feature.

    Raises ``CapacityError`` as it does.
    """
    blocks = np.empty(len(counts), np.int32)
    columns = np.ascontiguousarray(counts).view(np.int32).reshape(-1, 3)
    grid = _count(columns, batch, np.ascontiguousarray(values, np.int64), blocks)
    _check(grid)
    return blocks, grid


def static_blocks(history: Sequence[np.ndarray], strategy: str) -> np.ndarray:
    """int32 [features]: numbers of blocks fixed beforehand, for comparison (RecFlex, VI-D).

    history
        ``feature_blocks`` of past batches, [features] each.
    strategy
        ``average``, rounded up, or ``maximum``.
    """
    past = np.stack(list(history))
    if strategy == "maximum":
        return past.max(axis=0).astype(np.int32)
    assert strategy == "average", strategy
    return (-(-past.sum(axis=0, dtype=np.int64) // len(past))).astype(np.int32)


def arrange(
    blocks: np.ndarray, order: str = "contiguous", costs: np.ndarray | None = None
) -> TaskMap:
    """The grid in which feature ``f`` has ``blocks[f]`` blocks, at least one.

    order
        ``contiguous``: features in their order, each with its blocks side by side.
        ``interleaved``: the blocks of every feature are spread evenly over the grid, so that
        costly and cheap ones run at the same time, in the grid's own proportion. Of features with
        equally many blocks the costlier begin first, so that the last blocks are cheap ones: block
        ``i`` of ``n`` is ``(i + 1 - cost / highest cost) / n`` of the way through the grid, in
        steps of 1 / ``PLACES``; those at the same place in features' order.
    costs
        positive float64 [features]: of a block of each feature, in any unit; ``None``: all alike.

    Raises ``CapacityError`` for a grid beyond what CUDA allows.
    """
    blocks = np.ascontiguousarray(blocks, np.int32)
    grid = int(blocks.sum(dtype=np.int64))
    _check(grid)
    return _arrange(blocks, grid, order, costs)


def _check(grid: int) -> None:
    if grid > MAXIMUM_GRID:
        raise CapacityError(f"grid of {grid:,} blocks: must be at most {MAXIMUM_GRID:,}")


def _arrange(blocks: np.ndarray, grid: int, order: str, costs: np.ndarray | None) -> TaskMap:
    tasks = np.empty(grid, TASK)
    numbers = tasks.view(np.int64)
    if order == "contiguous":
        _fill_contiguous(blocks, numbers)
    else:
        assert order == "interleaved", order
        costs = np.ones(len(blocks)) if costs is None else np.ascontiguousarray(costs, np.float64)
        _fill_interleaved(blocks, costs, numbers)
    return TaskMap(tasks, blocks)


@njit(cache=True, nogil=True)
def _count(counts: np.ndarray, batch: int, values: np.ndarray, blocks: np.ndarray) -> int:
    """Blocks of each feature, and all of them together. O(features)."""
    grid = 0
    for feature in range(len(blocks)):
        units = values[feature] if counts[feature, 0] else batch
        wanted = -(-units * counts[feature, 1] // counts[feature, 2])
        wanted = max(wanted, 1)
        blocks[feature] = min(wanted, MAXIMUM_GRID)
        grid += wanted
    return grid


@njit(cache=True, nogil=True)
def _fill_contiguous(blocks: np.ndarray, tasks: np.ndarray) -> None:
    """O(grid)."""
    at = 0
    for feature in range(len(blocks)):
        for block in range(blocks[feature]):
            tasks[at + block] = feature + _BLOCK * block
        at += blocks[feature]


@njit(cache=True, nogil=True)
def _fill_interleaved(blocks: np.ndarray, costs: np.ndarray, tasks: np.ndarray) -> None:
    """Sorts by place, by counting. O(grid + features)."""
    highest = costs.max()
    begins = np.empty(len(blocks), np.int64)
    ends = np.zeros(PLACES + 1, np.int64)
    for feature in range(len(blocks)):
        step = _END // blocks[feature]
        begins[feature] = min(int((1.0 - costs[feature] / highest) * step), step - 1)
        for block in range(blocks[feature]):
            ends[((begins[feature] + block * step) >> _FRACTION) + 1] += 1
    for place in range(PLACES):
        ends[place + 1] += ends[place]
    for feature in range(len(blocks)):
        step = _END // blocks[feature]
        for block in range(blocks[feature]):
            place = (begins[feature] + block * step) >> _FRACTION
            tasks[ends[place]] = feature + _BLOCK * block
            ends[place] += 1

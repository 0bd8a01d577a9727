"""Thread mapping on the host: which block works on which feature (RecFlex, IV-B and VI-D)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.cuda.layouts import TASK
from gnarl.sw.compiler.cuda.task_plan import TaskPlan
from gnarl.sw.runtime.cuda.task_arrays import MAXIMUM_GRID

try:
    import gnarl.sw.runtime.cuda.task_loops as fill
except ImportError:  # numba is absent, or too old for this Python or NumPy
    import gnarl.sw.runtime.cuda.task_arrays as fill  # type: ignore[no-redef]


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


Mapping = TaskMap | TaskPlan | Literal["device"] | None
"""The thread mapping of a launch: made before; made on the device; or, ``None``, on the host. Where
workers are warps it is a plan of tasks, or ``None``: the host's."""


def map_tasks(
    counts: np.ndarray,
    batch: int,
    values: np.ndarray,
    order: str = "contiguous",
) -> TaskMap:
    """Maps tasks: as many blocks for each feature as its schedule wants for a batch.

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
    grid = fill.count(columns, batch, np.ascontiguousarray(values, np.int64), blocks)
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
        fill.contiguous(blocks, numbers)
    else:
        assert order == "interleaved", order
        costs = np.ones(len(blocks)) if costs is None else np.ascontiguousarray(costs, np.float64)
        fill.interleaved(blocks, costs, numbers)
    return TaskMap(tasks, blocks)

"""Blocks of features, and the tasks of a grid, in NumPy: where numba cannot be used."""

from __future__ import annotations

import numpy as np

MAXIMUM_GRID = 2**31 - 1

PLACES = 1024
"""Places of an interleaved grid: far more than waves, and few enough for a cache."""

FRACTION = 32
END = PLACES << FRACTION
"""The end of the grid, in the numbers that places are computed with."""

BLOCK = 1 << 32
"""A task as one number: feature + BLOCK * block, on hosts that have low bytes first."""


def count(counts: np.ndarray, batch: int, values: np.ndarray, blocks: np.ndarray) -> int:
    """Writes how many blocks each feature has; returns the sum, which may be beyond any grid.

    counts
        int32 [features, 3]: ``BLOCK_COUNT``'s fields.
    batch, values
        samples, and int64 [features], indices, of the batch.
    blocks
        int32 [features].
    """
    units = np.where(counts[:, 0] != 0, values, batch)
    wanted = np.maximum(-(-units * counts[:, 1] // counts[:, 2]), 1)
    np.minimum(wanted, MAXIMUM_GRID, out=blocks, casting="unsafe")
    return int(wanted.sum())


def contiguous(blocks: np.ndarray, tasks: np.ndarray) -> None:
    """Writes the tasks of features in their order.

    blocks
        int32 [features].
    tasks
        int64 [grid].
    """
    begins = np.cumsum(blocks, dtype=np.int64) - blocks
    numbers = np.arange(len(tasks)) - np.repeat(begins, blocks)
    tasks[:] = np.repeat(np.arange(len(blocks)), blocks) + BLOCK * numbers


def interleaved(blocks: np.ndarray, costs: np.ndarray, tasks: np.ndarray) -> None:
    """Writes tasks in the order of their places in the grid; see ``task_map.arrange``.

    blocks, tasks
        as ``contiguous`` has them.
    costs
        positive float64 [features].
    """
    steps = END // blocks.astype(np.int64)
    begins = np.minimum(((1.0 - costs / costs.max()) * steps).astype(np.int64), steps - 1)
    contiguous(blocks, tasks)
    places = (np.repeat(begins, blocks) + (tasks // BLOCK) * np.repeat(steps, blocks)) >> FRACTION
    tasks[:] = tasks[np.argsort(places, kind="stable")]

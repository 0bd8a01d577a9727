"""``task_arrays`` as native loops.

NumPy takes 3 times as long for 1,000 blocks and 5 to 15 times for 20,000 and more, whose arrays of
intermediate results leave the caches.
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import compiled
from gnarl.sw.runtime.cuda.task_arrays import BLOCK, END, FRACTION, MAXIMUM_GRID, PLACES


@compiled
def count(counts: np.ndarray, batch: int, values: np.ndarray, blocks: np.ndarray) -> int:
    """Blocks of each feature, and all of them together. O(features)."""
    grid = 0
    for feature in range(len(blocks)):
        units = values[feature] if counts[feature, 0] else batch
        wanted = -(-units * counts[feature, 1] // counts[feature, 2])
        wanted = max(wanted, 1)
        blocks[feature] = min(wanted, MAXIMUM_GRID)
        grid += wanted
    return grid


@compiled
def contiguous(blocks: np.ndarray, tasks: np.ndarray) -> None:
    """O(grid)."""
    at = 0
    for feature in range(len(blocks)):
        for block in range(blocks[feature]):
            tasks[at + block] = feature + BLOCK * block
        at += blocks[feature]


@compiled
def interleaved(blocks: np.ndarray, costs: np.ndarray, tasks: np.ndarray) -> None:
    """Sorts by place, by counting. O(grid + features)."""
    highest = costs.max()
    begins = np.empty(len(blocks), np.int64)
    ends = np.zeros(PLACES + 1, np.int64)
    for feature in range(len(blocks)):
        step = END // blocks[feature]
        begins[feature] = min(int((1.0 - costs[feature] / highest) * step), step - 1)
        for block in range(blocks[feature]):
            ends[((begins[feature] + block * step) >> FRACTION) + 1] += 1
    for place in range(PLACES):
        ends[place + 1] += ends[place]
    for feature in range(len(blocks)):
        step = END // blocks[feature]
        for block in range(blocks[feature]):
            place = (begins[feature] + block * step) >> FRACTION
            tasks[ends[place]] = feature + BLOCK * block
            ends[place] += 1

"""A binary heap of numbers ordered by keys kept elsewhere, for compiled loops."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import in_place


@in_place
def push(heap: np.ndarray, size: int, item: int, key: np.ndarray) -> int:
    """Adds ``item``; the new size. ``heap`` must have room."""
    place = size
    while place > 0:
        above = (place - 1) // 2
        if key[heap[above]] <= key[item]:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = item
    return size + 1


@in_place
def pop(heap: np.ndarray, size: int, key: np.ndarray) -> tuple[int, int]:
    """Takes the item of the smallest key: ``(item, new size)``."""
    smallest = heap[0]
    size -= 1
    item = heap[size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and key[heap[below + 1]] < key[heap[below]]:
            below += 1
        if key[item] <= key[heap[below]]:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = item
    return smallest, size

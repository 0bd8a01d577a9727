"""Parts of tensors that are whole tiles, or within one. Source: Infinity Stream, algorithm 1."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import compiled


@compiled
def decompose(first: np.ndarray, last: np.ndarray, tile: np.ndarray) -> np.ndarray:
    """The parts of [first, last), int64 [dimensions] each, none of which is empty: int64 [parts,
    dimensions, 2] of bounds.

    In each dimension a part begins and ends at tiles' boundaries, or lies within a tile; there are
    at most three such intervals. O(parts).
    """
    rank = len(first)
    intervals = np.empty((rank, 3, 2), np.int64)
    counts = np.zeros(rank, np.int64)
    for k in range(rank):
        p, q, t = first[k], last[k], tile[k]
        b, c = -(-p // t) * t, q // t * t
        if b > c:
            intervals[k, 0] = p, q
            counts[k] = 1
            continue
        for start, end in ((p, b), (b, c), (c, q)):
            if start < end:
                intervals[k, counts[k]] = start, end
                counts[k] += 1
    total = 1
    for k in range(rank):
        total *= counts[k]
    parts = np.empty((total, rank, 2), np.int64)
    for number in range(len(parts)):
        left = number
        for k in range(rank):
            parts[number, k] = intervals[k, left % counts[k]]
            left //= counts[k]
    return parts

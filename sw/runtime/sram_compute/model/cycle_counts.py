"""What the cycles of a run are spent on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Interval = tuple[int, int]
"""First and last cycle."""


def cycle_counts(cycles: int, kinds: Sequence[Sequence[Interval]]) -> list[int]:
    """Cycles from 0 on that are in intervals of the first kind, in such of the second and none of
    the first, and so on; and last, those that are in none."""
    found, taken = [], np.zeros(cycles + 1, bool)
    for intervals in kinds:
        edges = np.zeros(cycles + 1, np.int64)
        for first, last in intervals:
            edges[min(first, cycles)] += 1
            edges[min(last + 1, cycles)] -= 1
        is_in = (np.cumsum(edges) > 0) & ~taken
        is_in[cycles:] = False
        taken |= is_in
        found.append(int(np.count_nonzero(is_in)))
    return [*found, cycles - sum(found)]

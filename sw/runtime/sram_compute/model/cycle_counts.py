"""What the cycles of a run are spent on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Interval = tuple[int, int]
"""First and last cycle."""


def cycle_counts(cycles: int, kinds: Sequence[tuple[str, Sequence[Interval]]]) -> dict[str, int]:
    """Cycles from 0 on that are in intervals of the first kind, in such of the second and none of
    the first, and so on, by the kinds' names; to the last are added those that are in none."""
    counts, taken = dict.fromkeys((name for name, _ in kinds), 0), np.zeros(cycles + 1, bool)
    for name, intervals in kinds:
        edges = np.zeros(cycles + 1, np.int64)
        for first, last in intervals:
            edges[min(first, cycles)] += 1
            edges[min(last + 1, cycles)] -= 1
        is_in = (np.cumsum(edges) > 0) & ~taken
        is_in[cycles:] = False
        taken |= is_in
        counts[name] += int(np.count_nonzero(is_in))
    counts[kinds[-1][0]] += cycles - sum(counts.values())
    return counts

"""What the cycles of a run are spent on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

Interval = tuple[int, int]
"""First and last cycle."""

Kinds = Sequence[tuple[str, Sequence[Interval]]]
"""Names with intervals; a name may be there more than once."""


def cycle_counts(cycles: int, kinds: Kinds) -> dict[str, int]:
    """Cycles from 0 on of each name, as ``cycles_by_kind`` has them."""
    counts = dict.fromkeys((name for name, _ in kinds), 0)
    for name, is_in in _places(cycles, kinds):
        counts[name] += int(np.count_nonzero(is_in))
    return counts


def cycles_by_kind(cycles: int, kinds: Kinds) -> dict[str, np.ndarray]:
    """Which of the cycles from 0 on are in intervals of the first kind, in such of the second and
    none of the first, and so on, by the kinds' names: bool [cycles]. To the last are added those
    that are in none."""
    places = {name: np.zeros(cycles, bool) for name, _ in kinds}
    for name, is_in in _places(cycles, kinds):
        places[name] |= is_in
    return places


def covered(cycles: int, intervals: Sequence[Interval]) -> np.ndarray:
    """Which of the cycles from 0 on are in intervals: bool [cycles]."""
    edges = np.zeros(cycles + 1, np.int64)
    for first, last in intervals:
        edges[min(first, cycles)] += 1
        edges[min(last + 1, cycles)] -= 1
    return np.cumsum(edges[:-1]) > 0


def _places(cycles: int, kinds: Kinds) -> Iterator[tuple[str, np.ndarray]]:
    taken = np.zeros(cycles, bool)
    for name, intervals in kinds:
        is_in = covered(cycles, intervals) & ~taken
        taken |= is_in
        yield name, is_in
    yield kinds[-1][0], ~taken

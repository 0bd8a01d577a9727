"""Pairs of sparse fibers and of matrices of them, for loops that merge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

LENGTH = 12
"""Coordinates lie below it."""

PAIRS: dict[str, tuple[list[int], list[int]]] = {
    "both empty": ([], []),
    "left empty": ([], [0, 3, 11]),
    "right empty": ([2, 5], []),
    "equal": ([0, 4, 5, 11], [0, 4, 5, 11]),
    "disjoint": ([0, 2, 4, 6], [1, 3, 5, 7]),
    "one behind the other": ([0, 1, 2], [3, 4, 5, 6]),
    "one coordinate": ([7], [7]),
    "the last ones meet": ([1, 3, 11], [0, 11]),
    "all": (list(range(LENGTH)), list(range(LENGTH))),
}

_SPECIAL = np.array([0.0, -0.0, np.inf, 1e-45, 3e38, 1.0], np.float32)


def values(count: int, seed: int) -> np.ndarray:
    """Float32 [count], some of them special."""
    random = np.random.default_rng(seed)
    found = random.standard_normal(count).astype(np.float32)
    chosen = random.random(count) < 0.2
    found[chosen] = random.choice(_SPECIAL, chosen.sum())
    return found


def vectors(left: Sequence[int], right: Sequence[int], seed: int = 0) -> dict[str, np.ndarray]:
    """Arrays of two sparse vectors with these coordinates."""
    found = {}
    for number, (side, coordinates) in enumerate({"left": left, "right": right}.items()):
        found[side] = np.array(coordinates, np.int32)
        found[f"{side}_values"] = values(len(coordinates), 2 * seed + number)
    return found


def matrices(
    left: Sequence[Sequence[int]], right: Sequence[Sequence[int]], seed: int = 0
) -> dict[str, np.ndarray]:
    """Arrays of two matrices in compressed rows, whose columns are these."""
    found = {}
    for number, (side, rows) in enumerate({"left": left, "right": right}.items()):
        offsets = np.cumsum([0, *map(len, rows)])
        found[f"{side}_offsets"] = offsets.astype(np.int32)
        found[side] = np.array([each for row in rows for each in row], np.int32)
        found[f"{side}_values"] = values(int(offsets[-1]), 2 * seed + number)
    return found


coordinates = st.sets(st.integers(0, LENGTH - 1)).map(sorted)
"""Of a fiber."""

pairs = st.one_of(
    st.sampled_from(list(PAIRS.values())),
    st.tuples(coordinates, coordinates),
    coordinates.map(lambda found: (found, found)),
    coordinates.map(lambda found: (found, sorted(set(range(LENGTH)) - set(found)))),
)

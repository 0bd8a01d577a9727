"""Inputs of all operations of Ember's table I, small ones."""

from __future__ import annotations

import numpy as np

from tests.support.tmu.programs import bags

LENGTHS = [3, 0, 5, 1, 4]


def operation_inputs(
    dim: int, seed: int = 0, lengths: list[int] = LENGTHS
) -> dict[str, np.ndarray]:
    """Inputs by the names of arrays, which are in one way in all operations; rows have ``dim``
    elements, and bags, or rows of a matrix, so many entries."""
    rng = np.random.default_rng(seed)
    entries = sum(lengths)

    def real(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    def index(limit: int, *shape: int) -> np.ndarray:
        return rng.integers(0, limit, shape).astype(np.int32)

    return bags(rng, lengths, dim) | {
        "values": real(entries),
        "dense": real(16, dim),
        "row": np.repeat(np.arange(len(lengths)), lengths).astype(np.int32),
        "column": index(16, entries),
        "key": real(5, 2, dim),
        "blocks": index(5, 3, 2),
        "vertex": real(len(lengths), dim),
        "neighbour": real(16, dim),
        "entity": real(9, dim),
        "relation": real(4, dim),
        "heads": index(9, 5),
        "links": index(4, 5),
        "tails": index(9, 5),
    }

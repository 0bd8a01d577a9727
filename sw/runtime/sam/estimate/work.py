"""How much work each coordinate of an index makes: products, counted without multiplying.

The products of ``A(i,k)*F(k,m)`` with some i are the entries of F in the rows k that A has entries
at: what sums of row and column counts give exactly, whatever the tensors' sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Positions:
    """Where an operand has positions: ``coordinates`` int64 [positions] of each of ``indices``."""

    indices: tuple[str, ...]
    coordinates: Sequence[np.ndarray]

    def of(self, index: str) -> np.ndarray:
        """Coordinates of an index."""
        return self.coordinates[self.indices.index(index)]


def work(operands: Sequence[Positions], index: str, sizes: Mapping[str, int]) -> np.ndarray:
    """Combinations of the operands' positions with each coordinate of ``index``, float64 [size].

    An operand that only has indices which others before it bring, as one that is added or a mask,
    counts nothing. Where an operand shares two indices with those nearer to ``index``, the first
    one counts. O(positions).
    """
    weights: dict[str, np.ndarray] = {index: np.ones(sizes[index])}
    for operand, parent, new in reversed(_tree(operands, index)):
        products = np.ones(len(operand.of(parent)))
        for each in new:
            if each in weights:
                products *= weights[each][operand.of(each)]
        found = np.bincount(operand.of(parent), products, sizes[parent])
        weights[parent] = weights.get(parent, 1.0) * found
    return weights[index]


def _tree(
    operands: Sequence[Positions], index: str
) -> list[tuple[Positions, str, tuple[str, ...]]]:
    """Operands that bring indices, each with the index by which it is reached from ``index``, and
    those that it brings; nearest first."""
    found: list[tuple[Positions, str, tuple[str, ...]]] = []
    reached, left = [index], list(operands)
    while True:
        operand, parent = next(
            ((each, near) for near in reached for each in left if near in each.indices),
            (None, ""),
        )
        if operand is None:
            return found
        left.remove(operand)
        new = tuple(each for each in operand.indices if each not in reached)
        if new or not found:
            found.append((operand, parent, new))
        reached += new

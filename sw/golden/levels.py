"""Nodes of a DAG in groups that can be computed at one time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gnarl.sw.program.jit import compiled


class Group(NamedTuple):
    """Nodes of one kind, none of which needs another: ``first`` to ``last - 1`` of ``Levels``.

    Their operands are ``operands[offsets[0]:offsets[-1]]`` of ``Levels``.
    """

    kind: int
    first: int
    last: int
    offsets: np.ndarray


class Levels:
    """Nodes renumbered by their distance from the leaves, then by kind, then as they were.

    ``offsets`` int64 [n + 1] and ``operands`` int [m] as in ``Dag``, operands before their users;
    ``kind`` uint8 [n]. O(n log n + m).

    number
        int64 [n], the new number of each node.
    places
        int64 [m], places in the given ``operands``, grouped by their users' new numbers.
    operands
        int64 [m], the new numbers of the operands at these places.
    """

    def __init__(self, offsets: np.ndarray, operands: np.ndarray, kind: np.ndarray) -> None:
        level = _levels(offsets, operands)
        key = level * 256 + kind
        order = np.argsort(key, kind="stable")
        count = np.diff(offsets)[order]
        self._offsets = np.concatenate([[0], np.cumsum(count)])
        self.number = np.empty_like(order)
        self.number[order] = np.arange(len(order))
        self.places = np.arange(len(operands)) + np.repeat(
            offsets[order] - self._offsets[:-1], count
        )
        self.operands = self.number[operands[self.places]]
        bounds = np.flatnonzero(np.diff(key[order], prepend=-1))
        self._bounds = [*bounds.tolist(), len(order)]
        self._kinds = kind[order[bounds]].tolist()

    def __iter__(self) -> Iterator[Group]:
        """The groups, operands before their users."""
        for index, kind in enumerate(self._kinds):
            first, last = self._bounds[index : index + 2]
            yield Group(kind, first, last, self._offsets[first : last + 1])


@compiled
def _levels(offsets: np.ndarray, operands: np.ndarray) -> np.ndarray:
    level = np.zeros(len(offsets) - 1, np.int64)
    for node in range(len(level)):
        for place in range(offsets[node], offsets[node + 1]):
            level[node] = max(level[node], level[operands[place]] + 1)
    return level

"""Free and taken rows of an array."""

from __future__ import annotations

import numpy as np


class Rows:
    """``count`` rows, none of which is taken at first."""

    def __init__(self, count: int) -> None:
        self._is_free = np.ones(count, bool)

    def find(self, length: int, *, from_above: bool = False) -> int | None:
        """The first row of ``length`` free ones, or of the last such; they stay free."""
        free = self._is_free[::-1] if from_above else self._is_free
        ends = np.cumsum(np.concatenate([[0], free]))
        starts = np.flatnonzero(ends[length:] - ends[:-length] == length)
        if not len(starts):
            return None
        first = int(starts[0])
        return len(free) - first - length if from_above else first

    def take(self, first: int, length: int) -> None:
        self._is_free[first : first + length] = False

    def give(self, first: int, length: int) -> None:
        self._is_free[first : first + length] = True

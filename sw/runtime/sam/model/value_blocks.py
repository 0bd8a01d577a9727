"""Blocks of values in streams: a token's payload is the number of a block, whose words are here."""

from __future__ import annotations

import numpy as np

_FIRST_ROWS = 1 << 10


class ValueBlocks:
    """Blocks of a run by their words and numbers. Number 0 is a block of zeros."""

    def __init__(self) -> None:
        self._rows: dict[int, np.ndarray] = {}
        self._counts: dict[int, int] = {}

    def add(self, rows: np.ndarray) -> np.ndarray:
        """Numbers, int64 [n], of blocks uint32 [n, words]."""
        count, words = rows.shape
        known, own = self._counts.get(words, 1), self._of(words)
        if known + count > len(own):
            grown = np.empty((2 * (known + count), words), np.uint32)
            grown[:known] = own[:known]
            self._rows[words] = own = grown
        own[known : known + count] = rows
        self._counts[words] = known + count
        return np.arange(known, known + count)

    def at(self, numbers: np.ndarray, words: int) -> np.ndarray:
        """Words of blocks, uint32 [n, words]."""
        return self._of(words)[numbers]

    def _of(self, words: int) -> np.ndarray:
        if words not in self._rows:
            self._rows[words] = np.empty((_FIRST_ROWS, words), np.uint32)
            self._rows[words][0] = 0
        return self._rows[words]

"""Exact fixed-point arithmetic on Python's whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.formats import FixedFormat
from tests.support.arithmetic.floats import fresh_rng


class ExactFixed:
    """Numbers are words; results are exact, rounded half to even where needed, then wrapped."""

    def __init__(self, format: FixedFormat) -> None:
        self._format = format

    def _value(self, word: int) -> int:
        sign = 1 << (self._format.width - 1)
        return (word ^ sign) - sign

    def _word(self, value: int) -> int:
        return value & (1 << self._format.width) - 1

    def add(self, left: int, right: int) -> int:
        return self._word(left + right)

    def subtract(self, left: int, right: int) -> int:
        return self._word(left - right)

    def multiply(self, left: int, right: int) -> int:
        exact = Fraction(self._value(left) * self._value(right), 1 << self._format.fraction)
        return self._word(round(exact))  # Python rounds fractions half to even

    def minimum(self, left: int, right: int) -> int:
        return min(left, right, key=self._value)

    def maximum(self, left: int, right: int) -> int:
        return max(left, right, key=self._value)


def fixed_operands(format: FixedFormat) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """All pairs of up to 8 bits; else corners crossed with each other, and random pairs."""
    if format.width <= 8:
        words = np.arange(1 << format.width, dtype=np.uint64)
        left, right = np.meshgrid(words, words)
        return left.ravel(), right.ravel()
    one = 1 << format.fraction
    low = 1 << (format.width - 1)
    near = {base + step for base in (0, one >> 1, one, low) for step in (-2, -1, 0, 1, 2)}
    words = np.array(sorted(word & 2 * low - 1 for word in near), np.uint64)
    left, right = np.meshgrid(words, words)
    rng = fresh_rng()
    random = rng.integers(0, 2 * low, (2, 100_000), dtype=np.uint64)
    small = rng.integers(0, 4 * one, (2, 100_000), dtype=np.uint64) & np.uint64(2 * low - 1)
    pairs = np.concatenate([[left.ravel(), right.ravel()], random, small], axis=1)
    return pairs[0], pairs[1]

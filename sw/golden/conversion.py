"""Integers as floating-point numbers of ``gnarl.hw.lib.formats``, and back."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.sw.golden.words import float_words, from_words


def words_of_integers(integers: np.ndarray, format: str) -> np.ndarray:
    """The words (uint32) nearest to integers of up to 53 bits, ties to even, or infinite."""
    return float_words(integers.astype(np.float64), FLOAT_FORMATS[format])


def integers_of_words(words: np.ndarray, format: str, width: int, signed: bool) -> np.ndarray:
    """Numbers, rounded to 0, as integers (int64) of ``width`` bits, up to 32.

    What is beyond them becomes the greatest or the least one, NaN 0.
    """
    least, most = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    numbers = from_words(words, format)
    known = np.where(np.isnan(numbers), 0.0, numbers)
    return np.clip(np.trunc(known), least, most).astype(np.int64)

"""Integers as floating-point numbers, and back: against Python's own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.sw.golden.conversion import integers_of_words, words_of_integers
from tests.support.arithmetic.floats import DTYPES
from tests.support.arithmetic.numbers import corners


@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_integers_are_rounded_once(format: str) -> None:
    powers = [1 << bit for bit in range(32)]
    numbers = {sign * (power + near) for power in powers for near in (-1, 0, 1) for sign in (-1, 1)}
    integers = np.array(sorted(numbers), np.int64)
    with np.errstate(over="ignore"):
        expected = integers.astype(np.float64).astype(DTYPES[format])
    kind = np.dtype(f"u{DTYPES[format].itemsize}")
    assert words_of_integers(integers, format).tolist() == expected.view(kind).tolist()


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", [8, 32])
@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_numbers_are_cut_off(format: str, width: int, signed: bool) -> None:
    words = corners(FLOAT_FORMATS[format]).astype(np.uint32)
    found = integers_of_words(words, format, width, signed).tolist()
    kind = np.dtype(f"u{DTYPES[format].itemsize}")
    least, most = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    with np.errstate(invalid="ignore"):
        numbers = words.astype(kind).view(DTYPES[format]).astype(np.float64).tolist()
    for number, integer in zip(numbers, found, strict=True):
        if math.isnan(number):
            assert integer == 0
        elif math.isinf(number):
            assert integer == (most if number > 0 else least)
        else:
            assert integer == min(max(math.trunc(number), least), most)

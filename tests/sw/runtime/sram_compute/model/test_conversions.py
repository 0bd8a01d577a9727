"""Conversions between integers and floating point on the model."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.sram_compute.operations import CONVERTED_WIDTHS, FLOAT_OPERATIONS
from gnarl.sw.golden.conversion import integers_of_words, words_of_integers
from tests.support.arithmetic.floats import EIGHT_BITS, fresh_rng
from tests.support.arithmetic.numbers import corners
from tests.sw.runtime.sram_compute.model.operands import A, Operands, result


def _integers(width: int, signed: bool) -> np.ndarray:
    """All of 8 bits; of more, powers of two and their neighbours, and random ones."""
    least = -(1 << width - 1) if signed else 0
    if width == 8:
        return np.arange(least, least + 256)
    powers = 1 << np.arange(width - signed)
    near = np.concatenate([powers - 1, powers, powers + 1, 3 * powers // 2])
    rng = fresh_rng()
    random = rng.integers(0, 1 << width - signed, 2_000) >> rng.integers(0, width, 2_000)
    # Numbers of a few bits are ties of the formats that keep one less.
    ties = rng.integers(0, 64, 500) << rng.integers(0, width - 6 - signed, 500)
    numbers = np.concatenate([near, random, ties])
    numbers = np.concatenate([numbers, -numbers - 1, -numbers]) if signed else numbers
    return np.clip(numbers, least, least + (1 << width) - 1)


@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", CONVERTED_WIDTHS)
@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_integers_become_numbers(format: str, width: int, signed: bool, skips: bool) -> None:
    integers = _integers(width, signed)
    name = f"from_{'int' if signed else 'uint'}{width}"
    operands = Operands({A: integers}, width)
    found = result(
        FLOAT_OPERATIONS[format][name], operands, FLOAT_FORMATS[format].width, skips=skips
    )
    assert (found == words_of_integers(integers, format)).all()


@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", CONVERTED_WIDTHS)
@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_numbers_become_integers(format: str, width: int, signed: bool, skips: bool) -> None:
    kind = FLOAT_FORMATS[format]
    if format in EIGHT_BITS:
        words = np.arange(256, dtype=np.uint64)
    else:
        rng = fresh_rng()
        # Exponents from below 1 to beyond the integers; and any words.
        exponents = rng.integers(kind.bias - 2, min(kind.bias + 34, 2 * kind.bias + 1), 1_500)
        near = exponents << kind.fraction | rng.integers(0, 1 << kind.fraction, 1_500)
        near |= rng.integers(0, 2, 1_500) << kind.width - 1
        anywhere = rng.integers(0, 1 << kind.width, 500)
        words = np.concatenate([corners(kind), near.astype(np.uint64), anywhere.astype(np.uint64)])
    name = f"to_{'int' if signed else 'uint'}{width}"
    found = result(
        FLOAT_OPERATIONS[format][name], Operands({A: words}, kind.width), width, skips=skips
    )
    expected = integers_of_words(words.astype(np.uint32), format, width, signed)
    assert (found == expected.astype(np.uint64) & np.uint64((1 << width) - 1)).all()

"""The units for functions of one number against their model, bit for bit, on Verilator."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.functions.function import Function
from gnarl.sw.golden.functions import apply
from tests.support.arithmetic.floats import fresh_rng
from tests.support.arithmetic.functions import every_function, operands
from tests.support.arithmetic.units import Units, assert_same_words
from tests.support.parameters import slow_but


@cache
def units(name: str) -> Units:
    """All functions of one format, with all the registers that they have room for."""
    return Units(every_function(FLOAT_FORMATS[name]))


def assert_same_bits(name: str, words: np.ndarray) -> None:
    results = units(name).run(i=words, enable=1)
    for function in Function:
        expected = apply(function, words, name)
        got = results[f"{function.name.lower()}_o"]
        assert_same_words(got, expected, (words,), f"{name} {function.name}")


@pytest.mark.parametrize("name", slow_but(["bfloat16"], ["float32", "float16", "bfloat16"]))
def test_same_bits_as_the_model(name: str) -> None:
    assert_same_bits(name, operands(FLOAT_FORMATS[name], 1_000_000, fresh_rng()))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 512, 16))
def test_same_bits_for_every_float32(first: int) -> None:
    for exponent in range(first, first + 16):
        fractions = np.arange(1 << 23, dtype=np.uint32)
        assert_same_bits("float32", fractions | np.uint32(exponent << 23))

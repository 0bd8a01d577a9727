# amaranth: UnusedElaboratable=no
"""Integers as floating-point numbers, against NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gnarl.hw.lib.float.from_int import FloatFromInteger
from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.arithmetic.floats import DTYPES, fresh_rng, words
from tests.support.arithmetic.units import SideBySide, Units, assert_same_words, convert

SMALL = {
    f"{name}_{stages}": FloatFromInteger(FLOAT_FORMATS[name], 16, stages)
    for name, stages in (("float16", 1), ("bfloat16", 2), ("bfloat16", 6))
}
LARGE = {
    f"float32_{stages}": FloatFromInteger(FLOAT_FORMATS["float32"], 32, stages)
    for stages in (0, 1, 3, 4)
}


def check(units: dict[str, FloatFromInteger], integers: np.ndarray) -> None:
    found = Units(units).run(i=integers)
    for name in units:
        kind = name.split("_")[0]
        expected = words(kind, integers.astype(np.float64).astype(DTYPES[kind]))
        assert_same_words(found[f"{name}_o"], expected, (integers.astype(np.uint64),), name)


def test_all_short_integers():
    check(SMALL, np.arange(-(1 << 15), 1 << 15, dtype=np.int64))


def test_long_integers():
    """All ends of numbers of every length and their neighbours, ties among them; random ones."""
    ends = [1 << bit for bit in range(32)]
    ties = [(1 << bit) + (step << bit - 25 + 1) for bit in range(25, 31) for step in (1, 2, 3, 5)]
    near = [end + by for end in ends + ties for by in range(-2, 3)]
    rng = fresh_rng()
    random = rng.integers(0, 1 << 31, 20_000) >> rng.integers(0, 31, 20_000)
    magnitudes = np.concatenate([np.array(near, np.int64), random])
    signed = np.concatenate([magnitudes, -magnitudes])
    check(LARGE, signed[(signed >= -(1 << 31)) & (signed < 1 << 31)])


def test_lint_finds_nothing():
    assert lint(convert(SideBySide(LARGE), "units"), "units") == []


@pytest.mark.parametrize("width", [25, 129])
def test_widths_that_do_not_fit(width):
    text = f"width = {width}: must be from 26 to 128"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        FloatFromInteger(FLOAT_FORMATS["float32"], width, 1)

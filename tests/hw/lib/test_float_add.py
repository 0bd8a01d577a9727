# amaranth: UnusedElaboratable=no
"""The adder against NumPy, ml_dtypes and exact fractions, on Verilator."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hw.lib.float_add import FloatAdder
from hw.lib.formats import FLOAT_FORMATS, FloatFormat
from sw.runtime.lint import lint
from tests.support.floats import (
    DEPTHS,
    FORMATS,
    NUMPY_CASES,
    ODD_FORMATS,
    check_latencies,
    float_units,
    numbers,
    operands,
    words,
)
from tests.support.numbers import RationalFloat, crossed
from tests.support.units import assert_same_words, convert


@pytest.mark.parametrize("subtract", [False, True], ids=["add", "subtract"])
@pytest.mark.parametrize(("name", "kind"), NUMPY_CASES)
def test_same_bits_as_numpy(name: str, kind: str, subtract: bool) -> None:
    a, b = operands(name, kind)
    with np.errstate(all="ignore"):
        left, right = numbers(name, a), numbers(name, b)
        expected = words(name, left - right if subtract else left + right)
    results = float_units(FORMATS[name]).run(a=a, b=b, subtract=int(subtract))
    for depth in DEPTHS:
        assert_same_words(results[f"add_{depth}_o"], expected, (a, b), f"{name} sum {depth}")


@pytest.mark.parametrize("format", ODD_FORMATS, ids=str)
def test_all_pairs_of_odd_formats_are_exact_sums_rounded_once(format: FloatFormat) -> None:
    reference = RationalFloat(format)
    a, b = crossed(np.arange(1 << format.width, dtype=np.uint64))
    for subtract, function in ((0, reference.add), (1, reference.subtract)):
        expected = np.array([function(int(x), int(y)) for x, y in zip(a, b, strict=True)])
        results = float_units(format).run(a=a, b=b, subtract=subtract)
        for depth in DEPTHS:
            assert_same_words(results[f"add_{depth}_o"], expected, (a, b), f"sum {depth}")


def test_every_depth_has_the_latency_it_claims() -> None:
    check_latencies("add")


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_lint(name: str) -> None:
    for depth in (0, 8):
        assert lint(convert(FloatAdder(FLOAT_FORMATS[name], depth), "adder"), "adder") == []


@pytest.mark.parametrize("format", [FloatFormat(1, 2), FloatFormat(12, 2), FloatFormat(4, 0)])
def test_formats_out_of_range_are_refused(format: FloatFormat) -> None:
    text = f"{format}: exponent must have 2 to 11 bits, fraction 1 to 52"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        FloatAdder(format, 0)


@pytest.mark.parametrize("stages", [-1, True, 1.0])
def test_stages_must_be_a_whole_number(stages: int) -> None:
    text = f"stages = {stages!r}: must be a whole number, at least 0"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        FloatAdder(FloatFormat(3, 2), stages)

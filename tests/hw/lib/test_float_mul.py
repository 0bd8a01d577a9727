"""The multiplier against NumPy, ml_dtypes and exact fractions, on Verilator."""

from __future__ import annotations

import numpy as np
import pytest

from hw.lib.float_mul import FloatMultiplier
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


@pytest.mark.parametrize(("name", "kind"), NUMPY_CASES)
def test_same_bits_as_numpy(name: str, kind: str) -> None:
    a, b = operands(name, kind)
    with np.errstate(all="ignore"):
        expected = words(name, numbers(name, a) * numbers(name, b))
    results = float_units(FORMATS[name]).run(a=a, b=b, subtract=0)
    for depth in DEPTHS:
        assert_same_words(results[f"mul_{depth}_o"], expected, (a, b), f"{name} product {depth}")


@pytest.mark.parametrize("format", ODD_FORMATS, ids=str)
def test_all_pairs_of_odd_formats_are_exact_products_rounded_once(format: FloatFormat) -> None:
    reference = RationalFloat(format)
    a, b = crossed(np.arange(1 << format.width, dtype=np.uint64))
    expected = np.array([reference.multiply(int(x), int(y)) for x, y in zip(a, b, strict=True)])
    results = float_units(format).run(a=a, b=b, subtract=0)
    for depth in DEPTHS:
        assert_same_words(results[f"mul_{depth}_o"], expected, (a, b), f"product {depth}")


def test_every_depth_has_the_latency_it_claims() -> None:
    check_latencies("mul")


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_lint(name: str) -> None:
    for depth in (0, 8):
        unit = FloatMultiplier(FLOAT_FORMATS[name], depth)
        assert lint(convert(unit, "multiplier"), "multiplier") == []

"""Comparison, minimum and maximum against NumPy, ml_dtypes and exact fractions, on Verilator."""

from __future__ import annotations

import numpy as np
import pytest

from hw.lib.float_compare import FloatCompare
from hw.lib.formats import FLOAT_FORMATS, FloatFormat
from sw.runtime.lint import lint
from tests.support.floats import (
    DEPTHS,
    FORMATS,
    NUMPY_CASES,
    ODD_FORMATS,
    float_units,
    maximum,
    minimum,
    numbers,
    operands,
    words,
)
from tests.support.numbers import RationalFloat, crossed
from tests.support.units import assert_same_words, convert


@pytest.mark.parametrize(("name", "kind"), NUMPY_CASES)
def test_same_bits_as_numpy(name: str, kind: str) -> None:
    a, b = operands(name, kind)
    left, right = numbers(name, a), numbers(name, b)
    with np.errstate(invalid="ignore"):
        expected = {
            "less": left < right,
            "equal": left == right,
            "unordered": np.isnan(left) | np.isnan(right),
            "minimum": words(name, minimum(left, right)),
            "maximum": words(name, maximum(left, right)),
        }
    results = float_units(FORMATS[name]).run(a=a, b=b, subtract=0)
    for depth in DEPTHS:
        for port, wanted in expected.items():
            got = results[f"compare_{depth}_{port}"]
            assert_same_words(got, wanted, (a, b), f"{name} {port} {depth}")


@pytest.mark.parametrize("format", ODD_FORMATS, ids=str)
def test_all_pairs_of_odd_formats(format: FloatFormat) -> None:
    reference = RationalFloat(format)
    a, b = crossed(np.arange(1 << format.width, dtype=np.uint64))
    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    relations = np.array([reference.compare(x, y) for x, y in pairs])
    expected = {
        **{relation: relations == relation for relation in ("less", "equal", "unordered")},
        "minimum": np.array([reference.minimum(x, y) for x, y in pairs]),
        "maximum": np.array([reference.maximum(x, y) for x, y in pairs]),
    }
    results = float_units(format).run(a=a, b=b, subtract=0)
    for depth in DEPTHS:
        for port, wanted in expected.items():
            got = results[f"compare_{depth}_{port}"]
            assert_same_words(got, wanted, (a, b), f"{port} {depth}")


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_lint(name: str) -> None:
    for depth in (0, 8):
        unit = FloatCompare(FLOAT_FORMATS[name], depth)
        assert unit.latency == depth
        assert lint(convert(unit, "comparator"), "comparator") == []

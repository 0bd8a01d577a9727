# amaranth: UnusedElaboratable=no
"""Fixed-point units against exact whole numbers and fractions, on Verilator."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hw.lib.fixed import FixedAdder, FixedMultiplier
from hw.lib.formats import FixedFormat
from sw.runtime.lint import lint
from tests.support.fixed import ExactFixed, fixed_operands
from tests.support.units import Units, assert_same_words, convert

FORMATS = [FixedFormat(8, 0), FixedFormat(8, 7), FixedFormat(5, 1), FixedFormat(32, 16)]
DEPTHS = (0, 1, 3, 6)


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_sums_wrap_and_products_round_to_even(format: FixedFormat) -> None:
    units = Units(
        {
            f"{name}_{depth}": kind(format, depth)
            for depth in DEPTHS
            for name, kind in (("add", FixedAdder), ("mul", FixedMultiplier))
        }
    )
    a, b = fixed_operands(format)
    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    exact = ExactFixed(format)
    sums = np.array([exact.add(x, y) for x, y in pairs])
    differences = np.array([exact.subtract(x, y) for x, y in pairs])
    products = np.array([exact.multiply(x, y) for x, y in pairs])
    added = units.run(a=a, b=b, subtract=0)
    subtracted = units.run(a=a, b=b, subtract=1)
    for depth in DEPTHS:
        assert units.latency(f"add_{depth}") == units.latency(f"mul_{depth}") == depth
        assert_same_words(added[f"add_{depth}_o"], sums, (a, b), f"sum {depth}")
        assert_same_words(subtracted[f"add_{depth}_o"], differences, (a, b), f"difference {depth}")
        assert_same_words(added[f"mul_{depth}_o"], products, (a, b), f"product {depth}")


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_lint(format: FixedFormat) -> None:
    assert lint(convert(FixedAdder(format, 2), "adder"), "adder") == []
    assert lint(convert(FixedMultiplier(format, 2), "multiplier"), "multiplier") == []


@pytest.mark.parametrize("kind", [FixedAdder, FixedMultiplier])
@pytest.mark.parametrize("format", [FixedFormat(3, 1), FixedFormat(33, 1), FixedFormat(8, 8)])
def test_formats_out_of_range_are_refused(kind: type, format: FixedFormat) -> None:
    text = f"{format}: width must be 4 to 32 bits, fraction 0 to width - 1"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        kind(format, 0)


@pytest.mark.parametrize("kind", [FixedAdder, FixedMultiplier])
def test_stages_must_not_be_negative(kind: type) -> None:
    with pytest.raises(ValueError, match=r"^stages = -1: must be a whole number, at least 0$"):
        kind(FixedFormat(8, 4), -1)

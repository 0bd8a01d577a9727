"""The units for functions of one number: short formats, with any number of registers."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.formats import FLOAT_FORMATS, FloatFormat
from gnarl.hw.lib.functions.function import ERROR_BOUND_ULP, Function, FunctionUnit
from gnarl.sw.golden.functions import apply
from tests.support.arithmetic.functions import error_in_ulp, every_function
from tests.support.arithmetic.units import Units, assert_same_words

ODD = [FloatFormat(6, 1), FloatFormat(3, 11), FloatFormat(7, 6)]
"""Formats without a model."""


@pytest.mark.parametrize(("name", "depths"), [("float8_e4m3", (0, 5, 17)), ("float8_e5m2", (2,))])
def test_every_depth_has_the_latency_it_claims(name: str, depths: tuple[int, ...]) -> None:
    kinds = {
        f"{function.name.lower()}_{depth}": FunctionUnit(FLOAT_FORMATS[name], function, depth)
        for function in Function
        for depth in depths
    }
    words = np.arange(256, dtype=np.uint32)
    units = Units(kinds)
    results = units.run(i=words, enable=1)
    for function in Function:
        expected = apply(function, words, name)
        for depth in depths:
            kind = f"{function.name.lower()}_{depth}"
            assert units.latency(kind) == depth
            assert_same_words(results[f"{kind}_o"], expected, (words,), kind)


@pytest.mark.parametrize("format", ODD, ids=str)
def test_errors_in_odd_formats_are_within_their_bounds(format: FloatFormat) -> None:
    words = np.arange(1 << format.width, dtype=np.uint32)
    results = Units(every_function(format, 0)).run(i=words, enable=1)
    for function in Function:
        errors = error_in_ulp(function, format, words, results[f"{function.name.lower()}_o"])
        assert errors.max() <= ERROR_BOUND_ULP[function], function.name

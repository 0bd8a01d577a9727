"""The model of functions of one number against float64, whole numbers and hand-picked values."""

from __future__ import annotations

import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.functions.function import ERROR_BOUND_ULP, Function
from gnarl.sw.golden.functions import apply
from gnarl.sw.golden.words import to_words
from tests.support.arithmetic.floats import fresh_rng
from tests.support.arithmetic.functions import ROUNDED, error_in_ulp, operands

INF, NAN = math.inf, math.nan

LIMITS: dict[Function, list[tuple[float, float]]] = {
    Function.RELU: [(NAN, NAN), (-INF, 0.0), (-1.5, 0.0), (-0.0, 0.0), (1.5, 1.5), (INF, INF)],
    Function.EXP: [(NAN, NAN), (-INF, 0.0), (-0.0, 1.0), (0.0, 1.0), (INF, INF)],
    Function.RECIPROCAL: [
        (NAN, NAN),
        (-INF, -0.0),
        (-2.0, -0.5),
        (-0.0, -INF),
        (0.0, INF),
        (4.0, 0.25),
        (INF, 0.0),
    ],
    Function.SQRT: [
        (NAN, NAN),
        (-INF, NAN),
        (-1.0, NAN),
        (-0.0, -0.0),
        (0.0, 0.0),
        (2.25, 1.5),
        (INF, INF),
    ],
    Function.GELU: [(NAN, NAN), (-INF, -0.0), (-0.0, -0.0), (0.0, 0.0), (INF, INF)],
    Function.SIGMOID: [(NAN, NAN), (-INF, 0.0), (-0.0, 0.5), (0.0, 0.5), (INF, 1.0)],
    Function.TANH: [(NAN, NAN), (-INF, -1.0), (-0.0, -0.0), (0.0, 0.0), (INF, 1.0)],
    Function.LOG: [
        (NAN, NAN),
        (-INF, NAN),
        (-1.0, NAN),
        (-0.0, -INF),
        (0.0, -INF),
        (1.0, 0.0),
        (INF, INF),
    ],
}

FLOAT32: dict[Function, list[tuple[int, int]]] = {
    # 2 * e; e**88.72284 does not overflow yet, the next one does; e**-103.97208 is the least
    # subnormal, the next one is 0.
    Function.EXP: [
        (0x3F800000, 0x402DF854),
        (0x42B17217, 0x7F7FFF84),
        (0x42B17218, 0x7F800000),
        (0xC2CFF1B4, 0x00000001),
        (0xC2CFF1B5, 0x00000000),
    ],
    # The least subnormal whose reciprocal is finite, and the one before it; the greatest number.
    Function.RECIPROCAL: [
        (0x00200000, 0x7F800000),
        (0x00200001, 0x7F7FFFF8),
        (0x7F7FFFFF, 0x00200000),
        (0x80000001, 0xFF800000),
    ],
    Function.SQRT: [(0x00000001, 0x1A3504F3), (0x7F7FFFFF, 0x5F7FFFFF), (0x40000000, 0x3FB504F3)],
    # x / 2 for small x, of both signs; x where the tail is nothing.
    Function.GELU: [(0x00000002, 0x00000001), (0x80000800, 0x80000400), (0x41000000, 0x41000000)],
    Function.SIGMOID: [(0x41900000, 0x3F800000), (0xC2CFF1B5, 0x00000000)],
    Function.TANH: [(0x00000001, 0x00000001), (0x80012345, 0x80012345), (0xC1200000, 0xBF800000)],
    # The least and the greatest subnormal, the greatest number, the neighbours of 1, the ends of
    # what is near 1 (0.75 and 1.5), and the negative number nearest to 0.
    Function.LOG: [
        (0x00000001, 0xC2CE8ED0),
        (0x007FFFFF, 0xC2AEAC50),
        (0x7F7FFFFF, 0x42B17218),
        (0x3F800001, 0x33FFFFFF),
        (0x3F7FFFFF, 0xB3800000),
        (0x3F3FFFFF, 0xBE934B13),
        (0x3F400000, 0xBE934B11),
        (0x3FBFFFFF, 0x3ECF991D),
        (0x3FC00000, 0x3ECF991F),
        (0x80000001, 0x7FC00000),
    ],
}


@pytest.mark.parametrize("name", FLOAT_FORMATS)
@pytest.mark.parametrize("function", Function, ids=lambda function: function.name)
def test_zeros_infinities_and_nans(function: Function, name: str) -> None:
    values, results = np.array(LIMITS[function]).T
    got = apply(function, to_words(values, name), name)
    assert got.tolist() == to_words(results, name).tolist()


@pytest.mark.parametrize("function", Function, ids=lambda function: function.name)
def test_any_nan_gives_the_canonical_one(function: Function) -> None:
    nans = np.array([0x7F800001, 0x7FFFFFFF, 0xFF800001, 0xFFC00000], np.uint32)
    assert apply(function, nans, "float32").tolist() == [0x7FC00000] * 4


@pytest.mark.parametrize("function", FLOAT32, ids=lambda function: function.name)
def test_words_of_float32(function: Function) -> None:
    words, results = np.array(FLOAT32[function], np.uint32).T
    got = apply(function, words, "float32")
    assert [hex(word) for word in got] == [hex(word) for word in results]


@pytest.mark.parametrize("name", FLOAT_FORMATS)
@pytest.mark.parametrize("function", Function, ids=lambda function: function.name)
def test_error_is_within_its_bound(function: Function, name: str) -> None:
    format = FLOAT_FORMATS[name]
    words = operands(format, 1_000_000, fresh_rng())
    errors = error_in_ulp(function, format, words, apply(function, words, name))
    assert errors.size > words.size // 3
    assert errors.max() <= ERROR_BOUND_ULP[function]


@pytest.mark.slow
@pytest.mark.parametrize("function", ROUNDED, ids=lambda function: function.name)
def test_error_of_every_float32_is_within_its_bound(function: Function) -> None:
    worst = 0.0
    for start in range(0, 1 << 32, 1 << 21):
        words = np.arange(start, start + (1 << 21), dtype=np.uint64).astype(np.uint32)
        results = apply(function, words, "float32")
        errors = error_in_ulp(function, FLOAT_FORMATS["float32"], words, results)
        worst = max(worst, errors.max(initial=0.0))
    print(f"{function.name}: {worst:.4f} ulp")
    assert worst <= ERROR_BOUND_ULP[function]


@given(st.integers(1, 0x7F7FFFFF))
def test_square_root_and_reciprocal_are_nearest(word: int) -> None:
    x = _magnitude(word)
    for function, excess in (
        (Function.SQRT, lambda y: y * y - x),
        (Function.RECIPROCAL, lambda y: y * x - 1),
    ):
        result = int(apply(function, np.array([word], np.uint32), "float32")[0])
        # The exact result lies between the midpoints to both neighbours.
        low, at, high = (_magnitude(result + step) for step in (-1, 0, 1))
        assert excess((low + at) / 2) <= 0
        assert excess((at + high) / 2) >= 0 or result == 0x7F800000


def _magnitude(word: int) -> Fraction:
    """The magnitude of a float32 that isn't negative; numbers go on beyond the greatest."""
    exponent, fraction = divmod(max(word, 0), 1 << 23)
    hidden = 1 << 23 if exponent else 0
    return (hidden + fraction) * Fraction(2) ** (max(exponent, 1) - 150)


@given(st.lists(st.integers(0, 0x7F7FFFFF), min_size=1))
def test_hyperbolic_tangent_is_odd(words: list[int]) -> None:
    positive = np.array(words, np.uint32)
    sign = np.uint32(1 << 31)
    got = apply(Function.TANH, positive | sign, "float32")
    assert got.tolist() == (apply(Function.TANH, positive, "float32") | sign).tolist()


@given(st.integers(1, 0x7F7FFFFF) | st.integers(0x3F000000, 0x3FFFFFFF))
def test_logarithm_in_decimals(word: int) -> None:
    """float64 takes no part, which is least accurate near 1."""
    with localcontext(prec=50):
        x = _magnitude(word)
        exact = (Decimal(x.numerator) / x.denominator).ln()
        result = int(apply(Function.LOG, np.array([word], np.uint32), "float32")[0])
        got = _magnitude(result & 0x7FFFFFFF)
        assert (result >> 31 == 1) == (exact < 0) and (got == 0) == (exact == 0)
        error = abs(Decimal(got.numerator) / got.denominator - abs(exact))
        exponent = max(math.frexp(exact)[1] - 1, -126)
        assert error <= Decimal(2) ** (exponent - 23) * Decimal("0.6")


def test_relu_of_fixed_point() -> None:
    words = np.array([0x0000, 0x0001, 0x7FFF, 0x8000, 0xFFFF], np.uint32)
    got = apply(Function.RELU, words, "fixed16.8")
    assert got.tolist() == [0, 1, 0x7FFF, 0, 0] and got.dtype == np.uint32


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
@pytest.mark.parametrize("function", Function, ids=lambda function: function.name)
def test_words_of_any_shape(function: Function, shape: tuple[int, ...]) -> None:
    got = apply(function, np.full(shape, 0x3F800000, np.uint32), "float32")
    assert got.shape == shape and got.dtype == np.uint32


def test_other_functions_of_fixed_point_are_refused() -> None:
    text = "no EXP in FixedFormat(width=16, fraction=8): fixed point has only RELU; "
    with pytest.raises(ValueError, match=f"^{re.escape(text)}take a float format$"):
        apply(Function.EXP, np.zeros(1, np.uint32), "fixed16.8")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="^no number format 'float64'; there are float32, "):
        apply(Function.EXP, np.zeros(1, np.uint32), "float64")

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.sw.golden.division import divide, divide_integers, divide_signed_integers, square_root
from tests.support.arithmetic.floats import fresh_rng
from tests.support.arithmetic.numbers import corners, crossed
from tests.support.arithmetic.quotients import ExactQuotients, quotient_operands, root_operands


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_quotients_are_exact_and_rounded_once(name: str) -> None:
    format = FLOAT_FORMATS[name]
    named, random = crossed(corners(format)), quotient_operands(format, 3_000, fresh_rng())
    left, right = np.concatenate([named, random], axis=1)
    exact = ExactQuotients(format)
    expected = [exact.divide(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    assert divide(left, right, name).tolist() == expected


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3"])
def test_all_quotients_of_8_bits_are_rounded_once(name: str) -> None:
    left, right = crossed(np.arange(256, dtype=np.uint64))
    exact = ExactQuotients(FLOAT_FORMATS[name])
    expected = [exact.divide(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    assert divide(left, right, name).tolist() == expected


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_square_roots_are_exact_and_rounded_once(name: str) -> None:
    format = FLOAT_FORMATS[name]
    words = np.concatenate([corners(format), root_operands(format, 3_000, fresh_rng())])
    if format.width == 8:
        words = np.arange(256, dtype=np.uint64)
    exact = ExactQuotients(format)
    assert square_root(words, name).tolist() == [exact.square_root(x) for x in words.tolist()]


@pytest.mark.parametrize("width", [1, 7, 64])
def test_whole_numbers(width: int) -> None:
    words = np.array([0, 1, 2, 3, 1 << width - 1, (1 << width) - 1], np.uint64)
    pairs = [part.tolist() for part in crossed(words & np.uint64((1 << width) - 1))]
    quotient, remainder = divide_integers(*(np.array(part, np.uint64) for part in pairs), width)
    expected = [divmod(a, b) if b else ((1 << width) - 1, a) for a, b in zip(*pairs, strict=True)]
    assert list(zip(quotient.tolist(), remainder.tolist(), strict=True)) == expected


@pytest.mark.parametrize("width", [1, 4, 32])
def test_signed_whole_numbers(width: int) -> None:
    sign = 1 << width - 1
    numbers = [x for x in (-sign, 1 - sign, -3, -2, -1, 0, 1, 2, 3, sign - 1) if -sign <= x < sign]
    pairs = [part.tolist() for part in crossed(np.array(numbers))]
    quotient, remainder = divide_signed_integers(*map(np.array, pairs), width)
    for a, b, found, rest in zip(*pairs, quotient.tolist(), remainder.tolist(), strict=True):
        if b == 0:
            assert (found, rest) == (-1, a)
        elif (a, b) == (-sign, -1):
            assert (found, rest) == (-sign, 0)
        else:
            assert found * b + rest == a
            assert abs(rest) < abs(b) and rest * a >= 0


def test_fixed_point_has_no_quotients() -> None:
    words = np.zeros(1, np.uint32)
    with pytest.raises(
        ValueError, match="^no quotients in fixed8.0: take a floating-point format$"
    ):
        divide(words, words, "fixed8.0")
    with pytest.raises(
        ValueError, match="^no quotients in fixed8.0: take a floating-point format$"
    ):
        square_root(words, "fixed8.0")

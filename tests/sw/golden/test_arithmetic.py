from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pytest

from gnarl.hw.lib.formats import FLOAT_FORMATS, FixedFormat, parse_format
from gnarl.hw.lib.operation import Operation
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.words import float_words, from_words

COMPUTES = [Operation.ADD, Operation.SUB, Operation.MUL, Operation.MAX, Operation.MIN]


def apply(name: str, operation: Operation, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    unit = arithmetic(name)
    return unit.words(unit.apply(operation, unit.numbers(left), unit.numbers(right)))


def expected_words(
    name: str, operation: Operation, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Words computed by way of float64, which holds sums and products of short formats exactly."""
    a, b = from_words(left, name), from_words(right, name)
    with np.errstate(all="ignore"):
        if operation in (Operation.ADD, Operation.SUB, Operation.MUL):
            compute = {
                Operation.ADD: np.add,
                Operation.SUB: np.subtract,
                Operation.MUL: np.multiply,
            }[operation]
            return float_words(compute(a, b), FLOAT_FORMATS[name])
    less = (a < b) | ((a == b) & np.signbit(a) & ~np.signbit(b))
    chosen = np.where(less == (operation == Operation.MIN), left, right)
    nan = np.isnan(a) | np.isnan(b)
    return np.where(nan, FLOAT_FORMATS[name].canonical_nan, chosen)


@pytest.mark.parametrize("operation", COMPUTES, ids=lambda operation: operation.name)
@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3"])
def test_all_pairs_of_8_bits(name: str, operation: Operation):
    left, right = (grid.ravel() for grid in np.meshgrid(*[np.arange(256, dtype=np.uint32)] * 2))
    expected = expected_words(name, operation, left, right)
    assert apply(name, operation, left, right).tolist() == expected.tolist()


@pytest.mark.parametrize("operation", COMPUTES, ids=lambda operation: operation.name)
@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_corners_crossed_and_random_pairs(name: str, operation: Operation):
    format = FLOAT_FORMATS[name]
    top = format.infinity
    corners = [0, 1, top - 1, top, top + 1, format.canonical_nan, 1 << format.fraction]
    corners += [(1 << format.fraction) - 1, format.bias << format.fraction]
    corners += [word | 1 << (format.width - 1) for word in corners]
    crossed = np.array(np.meshgrid(corners, corners), np.uint32).reshape(2, -1)
    random = np.random.default_rng(7).integers(0, 1 << format.width, (2, 100_000), np.uint32)
    left, right = np.concatenate([crossed, random], axis=1)
    if name == "float32" and operation in (Operation.ADD, Operation.SUB):
        # Near exponents, whose sums float64 holds exactly.
        right = np.where(right & top == top, right, (right & ~np.uint32(top)) | (left & top))
    expected = expected_words(name, operation, left, right)
    assert apply(name, operation, left, right).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["fixed8.0", "fixed8.3", "fixed8.7", "fixed32.16", "fixed32.31"])
def test_fixed_point_agrees_with_fractions(name: str):
    format = parse_format(name)
    assert isinstance(format, FixedFormat)
    size, unit = 1 << format.width, 1 << format.fraction
    corners = [0, 1, 2, unit // 2, unit, 3 * unit // 2, size // 2 - 1, size // 2, size - 1]
    random = np.random.default_rng(3).integers(0, size, (2, 500)).tolist()
    pairs = [(a % size, b % size) for a in corners for b in corners] + list(
        zip(*random, strict=True)
    )

    def number(word: int) -> Fraction:
        return Fraction(word - size if word >= size // 2 else word, unit)

    compute = {
        Operation.ADD: operator.add,
        Operation.SUB: operator.sub,
        Operation.MUL: operator.mul,
        Operation.MAX: max,
        Operation.MIN: min,
    }
    left, right = np.array(pairs, np.uint32).T
    for operation, function in compute.items():
        expected = [round(function(number(a), number(b)) * unit) % size for a, b in pairs]
        assert apply(name, operation, left, right).tolist() == expected


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match="^no number format 'float64'; there are float32, "):
        arithmetic("float64")

"""Floating-point operations on the model, against NumPy and ml_dtypes."""

from __future__ import annotations

import os

import numpy as np
import pytest

from hw.lib.formats import FLOAT_FORMATS
from hw.lib.operation import Operation
from hw.sram_compute.operations import FLOAT_OPERATIONS
from sw.golden.arithmetic import arithmetic
from sw.golden.division import divide
from tests.support.floats import EIGHT_BITS, fresh_rng
from tests.support.numbers import corners, crossed, random_pairs
from tests.sw.runtime.sram_compute.operands import A, B, D, Operands, result

ARITHMETIC = {
    "add": Operation.ADD,
    "subtract": Operation.SUB,
    "multiply": Operation.MUL,
    "maximum": Operation.MAX,
    "minimum": Operation.MIN,
}
COMPARISONS = {
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}
UNARY = ("absolute", "negate", "relu")
REPLACE = ("add", "subtract", "maximum", "minimum")
"""Operations whose result may be an operand's rows."""

Pairs = tuple[np.ndarray, np.ndarray]


def _pairs(format: str, count: int) -> Pairs:
    """All pairs of 8-bit words; of others corners and ``count`` random ones."""
    kind = FLOAT_FORMATS[format]
    if format in EIGHT_BITS:
        return crossed(np.arange(256, dtype=np.uint64))
    named, random = crossed(corners(kind)), random_pairs(kind, count, fresh_rng())
    a, b = np.concatenate([named, random], axis=1)
    return a, b


def _expected(format: str, name: str, pairs: Pairs) -> np.ndarray:
    numbers = arithmetic(format)
    words = [each.astype(np.uint32) for each in pairs]
    left, right = map(numbers.numbers, words)
    zero = np.zeros_like(left)
    with np.errstate(invalid="ignore"):
        if name in COMPARISONS:
            return COMPARISONS[name](left, right)
        if name == "divide":
            return divide(*words, format)
        if name == "absolute":
            return numbers.words(np.abs(left))
        if name == "negate":
            return numbers.words(-left)
        if name == "relu":
            return numbers.words(numbers.apply(Operation.MAX, left, zero))
        return numbers.words(numbers.apply(ARITHMETIC[name], left, right))


def _check(format: str, name: str, pairs: Pairs, onto: int = D, *, skips: bool = True) -> None:
    width = FLOAT_FORMATS[format].width
    rows = 1 if name in COMPARISONS else width
    operands = Operands({A: pairs[0], B: pairs[1]}, width)
    operation = FLOAT_OPERATIONS[format][name]
    found = result(operation, operands, rows, onto=onto, skips=skips)
    expected = _expected(format, name, pairs)
    wrong = np.flatnonzero(found != expected)
    assert wrong.size == 0, [
        tuple(hex(int(each[place])) for each in (*pairs, found, expected)) for place in wrong[:5]
    ]


@pytest.mark.parametrize("name", [*ARITHMETIC, "divide", *COMPARISONS, *UNARY])
@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_results(format: str, name: str) -> None:
    _check(format, name, _pairs(format, 3_000))


@pytest.mark.parametrize("onto", [A, B])
@pytest.mark.parametrize("name", REPLACE)
@pytest.mark.parametrize("format", ["float32", "float8_e4m3"])
def test_a_result_may_replace_an_operand(format: str, name: str, onto: int) -> None:
    _check(format, name, _pairs(format, 500), onto)


@pytest.mark.parametrize("name", UNARY)
def test_a_result_of_one_operand_may_replace_it(name: str) -> None:
    _check("bfloat16", name, _pairs("bfloat16", 500), A)


@pytest.mark.parametrize("name", [*ARITHMETIC, "divide", *COMPARISONS, *UNARY])
@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_normal_numbers_and_zeros_in_the_two_constant_times(format: str, name: str) -> None:
    kind, rng = FLOAT_FORMATS[format], fresh_rng()
    least = max(1, kind.bias // 2 + 2) << kind.fraction
    most = (kind.bias + kind.bias // 2 - 1) << kind.fraction
    words = rng.integers(least, most, (2, 200), np.uint64)
    words |= rng.integers(0, 2, (2, 200), np.uint64) << np.uint64(kind.width - 1)
    _check(format, name, (words[0], words[1]))
    words[:, :20] = 0
    _check(format, name, (words[0], words[1]), skips=False)


@pytest.mark.parametrize("format", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
@pytest.mark.slow
def test_a_million_pairs(format: str, name: str) -> None:
    _check(format, name, _pairs(format, int(os.environ.get("GNARL_TEST_PAIRS", 1_000_000))))

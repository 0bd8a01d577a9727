"""Floating-point operations on the model, against NumPy and ml_dtypes."""

from __future__ import annotations

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

ARITHMETIC = {"add": Operation.ADD, "subtract": Operation.SUB, "multiply": Operation.MUL}

Pairs = tuple[np.ndarray, np.ndarray]


def _pairs(format: str, count: int) -> Pairs:
    """All pairs of 8-bit words; of others corners and ``count`` random ones."""
    kind = FLOAT_FORMATS[format]
    if format in EIGHT_BITS:
        return crossed(np.arange(256, dtype=np.uint64))
    named, random = crossed(corners(kind)), random_pairs(kind, count, fresh_rng())
    a, b = np.concatenate([named, random], axis=1)
    return a, b


def _expected(format: str, operation: int, pairs: Pairs) -> np.ndarray:
    numbers = arithmetic(format)
    left, right = (numbers.numbers(each.astype(np.uint32)) for each in pairs)
    return numbers.words(numbers.apply(operation, left, right))


def _check(format: str, name: str, pairs: Pairs, onto: int = D) -> None:
    width = FLOAT_FORMATS[format].width
    operation = FLOAT_OPERATIONS[format][name]
    found = result(operation, Operands({A: pairs[0], B: pairs[1]}, width), width, onto=onto)
    if name == "divide":
        expected = divide(pairs[0].astype(np.uint32), pairs[1].astype(np.uint32), format)
    else:
        expected = _expected(format, ARITHMETIC[name], pairs)
    wrong = np.flatnonzero(found != expected)
    assert wrong.size == 0, [
        tuple(hex(int(each[place])) for each in (*pairs, found, expected)) for place in wrong[:5]
    ]


@pytest.mark.parametrize("name", [*ARITHMETIC, "divide"])
@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_arithmetic(format: str, name: str) -> None:
    _check(format, name, _pairs(format, 5_000))

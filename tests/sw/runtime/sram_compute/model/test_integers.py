"""Integer operations on the model, against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sram_compute.operations import INTEGER_OPERATIONS
from gnarl.sw.golden.division import (
    divide_integers,
    divide_signed_integers,
    floor_divide_integers,
)
from tests.sw.runtime.sram_compute.model.operands import A, B, D, E, Operands, result

Golden = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def _bits(numbers: np.ndarray, width: int) -> np.ndarray:
    return numbers.astype(np.uint64) & np.uint64((1 << width) - 1)


BINARY: dict[str, tuple[bool, Golden]] = {
    "and": (False, lambda a, b, n: a & b),
    "or": (False, lambda a, b, n: a | b),
    "xor": (False, lambda a, b, n: a ^ b),
    "add": (True, lambda a, b, n: a + b),
    "subtract": (True, lambda a, b, n: a - b),
    "maximum": (True, lambda a, b, n: np.maximum(a, b)),
    "minimum": (True, lambda a, b, n: np.minimum(a, b)),
    "maximum_unsigned": (False, lambda a, b, n: np.maximum(a, b)),
    "minimum_unsigned": (False, lambda a, b, n: np.minimum(a, b)),
}
"""Those whose result has n bits and may replace either operand; whether they are signed."""

COMPARISONS: dict[str, tuple[bool, Golden]] = {
    "equal": (True, lambda a, b, n: a == b),
    "not_equal": (True, lambda a, b, n: a != b),
    "less": (True, lambda a, b, n: a < b),
    "less_equal": (True, lambda a, b, n: a <= b),
    "less_unsigned": (False, lambda a, b, n: a < b),
    "less_equal_unsigned": (False, lambda a, b, n: a <= b),
}

UNARY: dict[str, Golden] = {
    "move": lambda a, b, n: a,
    "move_down": lambda a, b, n: a,
    "fill": lambda a, b, n: -(a & 1),
    "clear": lambda a, b, n: 0 * a,
    "set": lambda a, b, n: 0 * a - 1,
    "invert": lambda a, b, n: ~a,
    "negate": lambda a, b, n: -a,
    "absolute": lambda a, b, n: np.abs(a),
    "relu": lambda a, b, n: np.maximum(a, 0),
}


def _pairs(width: int, signed: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Corners, and all pairs or many."""
    least, most = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    if width <= 4:
        every = np.arange(least, most + 1)
        a, b = np.meshgrid(every, every)
        return a.ravel(), b.ravel()
    corners = [least, least + 1, most, most - 1, 0, 1, most >> 1, least >> 1, -1 if signed else 2]
    a, b = np.meshgrid(corners, corners)
    random = np.random.default_rng(seed)
    numbers = random.integers(least, most + 1, (2, 400)) >> random.integers(0, width, (2, 400))
    return np.concatenate([a.ravel(), numbers[0]]), np.concatenate([b.ravel(), numbers[1]])


widths = st.integers(1, 32)


@pytest.mark.parametrize("name", BINARY)
@given(width=widths, onto=st.sampled_from([A, B, D]))
@settings(max_examples=8)
def test_results_of_two_operands(name: str, width: int, onto: int) -> None:
    signed, golden = BINARY[name]
    a, b = _pairs(width, signed)
    operands = Operands({A: a, B: b}, width)
    found = result(INTEGER_OPERATIONS[name], operands, width, n=width, onto=onto)
    assert (found == _bits(golden(a, b, width), width)).all()


@pytest.mark.parametrize("name", COMPARISONS)
@given(width=widths, onto=st.integers(0, 31))
@settings(max_examples=8)
def test_comparisons(name: str, width: int, onto: int) -> None:
    signed, golden = COMPARISONS[name]
    a, b = _pairs(width, signed)
    operands = Operands({A: a, B: b}, width)
    for row in (D, A + onto % width, B + onto % width):
        found = result(INTEGER_OPERATIONS[name], operands, 1, n=width, onto=row)
        assert (found == golden(a, b, width)).all()


@pytest.mark.parametrize("name", UNARY)
@given(width=widths, onto=st.sampled_from([A, D]))
@settings(max_examples=8)
def test_results_of_one_operand(name: str, width: int, onto: int) -> None:
    a, b = _pairs(width, True)
    operands = Operands({A: a}, width)
    if name == "fill":
        onto = D
    found = result(INTEGER_OPERATIONS[name], operands, width, n=width, onto=onto)
    assert (found == _bits(UNARY[name](a, b, width), width)).all()


@given(width=widths, onto=st.sampled_from([A, B, D]))
@settings(max_examples=8)
def test_selection(width: int, onto: int) -> None:
    a, b = _pairs(width, True)
    takes_a = np.random.default_rng(1).integers(0, 2, len(a))
    operands = Operands({A: a, B: b, E: takes_a}, width)
    found = result(INTEGER_OPERATIONS["select"], operands, width, n=width, onto=onto)
    assert (found == _bits(np.where(takes_a, a, b), width)).all()


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 16, 31, 32])
def test_products(width: int) -> None:
    for name, signed, rows in (
        ("multiply", True, width),
        ("multiply_full", True, 2 * width),
        ("multiply_full_unsigned", False, 2 * width),
    ):
        a, b = _pairs(width, signed)
        operands = Operands({A: a, B: b}, width)
        found = result(INTEGER_OPERATIONS[name], operands, rows, n=width)
        with np.errstate(over="ignore"):
            product = a.astype(np.uint64) * b.astype(np.uint64)
        assert (found == _bits(product, rows)).all()


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 16, 31, 32])
@pytest.mark.parametrize("onto", [A, D])
def test_unsigned_quotients(width: int, onto: int) -> None:
    a, b = _pairs(width, False)
    operands = Operands({A: a, B: b}, width)
    operation = INTEGER_OPERATIONS["divide_unsigned"]
    found = result(operation, operands, 2 * width, n=width, onto=onto)
    quotient, remainder = divide_integers(a, b, width)
    assert (found >> np.uint64(width) == quotient).all()
    assert (_bits(found, width) == remainder).all()


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 16, 31, 32])
def test_signed_quotients(width: int) -> None:
    a, b = _pairs(width, True)
    operands = Operands({A: a, B: b}, width)
    found = result(INTEGER_OPERATIONS["divide"], operands, 2 * width, n=width)
    quotient, remainder = divide_signed_integers(a, b, width)
    assert (found >> np.uint64(width) == _bits(quotient, width)).all()
    assert (_bits(found, width) == _bits(remainder, width)).all()


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 16, 31, 32])
@pytest.mark.parametrize("signed, onto", [(True, D), (False, D), (False, A)])
def test_quotients_rounded_down(width: int, signed: bool, onto: int) -> None:
    a, b = _pairs(width, signed)
    operands, suffix = Operands({A: a, B: b}, width), "" if signed else "_unsigned"
    wanted = floor_divide_integers(a, b, width)
    for name, golden in zip(("floor_divide", "remainder"), wanted, strict=True):
        operation = INTEGER_OPERATIONS[f"{name}{suffix}"]
        found = result(operation, operands, width, n=width, onto=onto)
        assert (found == _bits(golden, width)).all(), name


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.slow
def test_all_pairs_of_8_bits(signed: bool) -> None:
    least = -128 if signed else 0
    every = np.arange(least, least + 256)
    a, b = (each.ravel() for each in np.meshgrid(every, every))
    operands = Operands({A: a, B: b}, 8)
    for name, (is_signed, golden) in (BINARY | COMPARISONS).items():
        if is_signed == signed:
            rows = 1 if name in COMPARISONS else 8
            found = result(INTEGER_OPERATIONS[name], operands, rows, n=8)
            assert (found == _bits(golden(a, b, 8), rows)).all()
    suffix = "" if signed else "_unsigned"
    product = result(INTEGER_OPERATIONS[f"multiply_full{suffix}"], operands, 16, n=8)
    assert (product == _bits(a * b, 16)).all()
    found = result(INTEGER_OPERATIONS[f"divide{suffix}"], operands, 16, n=8)
    golden_divide = divide_signed_integers if signed else divide_integers
    quotient, remainder = golden_divide(a, b, 8)
    assert (found == _bits(quotient, 8) << np.uint64(8) | _bits(remainder, 8)).all()
    wanted = floor_divide_integers(a, b, 8)
    for name, golden in zip(("floor_divide", "remainder"), wanted, strict=True):
        found = result(INTEGER_OPERATIONS[f"{name}{suffix}"], operands, 8, n=8)
        assert (found == _bits(golden, 8)).all()


@pytest.mark.parametrize("n", [4, 8, 16, 32])
def test_cycles(n: int) -> None:
    expected = {
        "add": n,
        "subtract": n,
        "absolute": n + 1,
        "less": n,
        "select": n + 1,
        "maximum": 2 * n,
        "multiply": n * (n + 3) // 2,
        "multiply_full": n * n + n + 1,
        "multiply_full_unsigned": n * n + n + 1,
        "divide_unsigned": n * n + 2 * n,
        "divide": n * n + 6 * n + 5,
        "floor_divide_unsigned": n * n + n,
        "floor_divide": n * n + 2 * n + 2,
        "remainder_unsigned": n * n + 2 * n,
        "remainder": n * n + 4 * n + 4,
    }
    found = {name: INTEGER_OPERATIONS[name].cycles(n, skips=False) for name in expected}
    assert found == expected


def test_scratch_rows() -> None:
    rows = {name: each.scratch_rows(32) for name, each in INTEGER_OPERATIONS.items()}
    assert {name: count for name, count in rows.items() if count} == {
        "divide": 33,
        "floor_divide": 64,
        "floor_divide_unsigned": 63,
        "remainder": 64,
        "remainder_unsigned": 63,
    }


def test_widths_that_an_operation_lacks_are_refused() -> None:
    with pytest.raises(ValueError) as caught:
        INTEGER_OPERATIONS["add"].program(33)
    assert str(caught.value) == "width 33 of add: must be from 1 to 32"

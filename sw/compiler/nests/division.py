"""Quotients by numbers as products: Granlund and Montgomery, Division by Invariant Integers using
Multiplication, 1994."""

from __future__ import annotations

from gnarl.sw.workloads.loops.ir.index_expressions import add, integer, multiply
from gnarl.sw.workloads.loops.ir.nest import Binary, BinaryOperator, Expression
from gnarl.sw.workloads.place import Location

_BITS = 31
"""Of what is divided, without its sign."""

_HALF = (1 << 16) - 1


def quotient(
    value: Expression, divisor: int, place: Location, *, may_be_negative: bool
) -> Expression:
    """An int32 over a number of 2 to 2^31 - 1, rounded down."""
    if not may_be_negative:
        return _of_positive(value, divisor, place)
    sign = _binary(BinaryOperator.SHIFT_RIGHT, value, _BITS, place)
    positive = Binary(BinaryOperator.BIT_XOR, value, sign, place)  # -1 - x, where x is negative
    found = _of_positive(positive, divisor, place)
    return Binary(BinaryOperator.BIT_XOR, found, sign, place)


def _of_positive(value: Expression, divisor: int, place: Location) -> Expression:
    """The high word of the product with the divisor's reciprocal, in halves of words."""
    length = (divisor - 1).bit_length()
    factor = (1 << _BITS + length) // divisor + 1
    factor_low, factor_high = factor & _HALF, factor >> 16

    low = _binary(BinaryOperator.BIT_AND, value, _HALF, place)
    high = _binary(BinaryOperator.SHIFT_RIGHT, value, 16, place)
    first = _upper(multiply(low, integer(factor_low, place), place), place)
    second = add(multiply(high, integer(factor_low, place), place), first, place)
    third = multiply(low, integer(factor_high, place), place)
    third = add(third, _binary(BinaryOperator.BIT_AND, second, _HALF, place), place)
    word = multiply(high, integer(factor_high, place), place)
    word = add(word, _binary(BinaryOperator.SHIFT_RIGHT, second, 16, place), place)
    word = add(word, _upper(third, place), place)
    return _binary(BinaryOperator.SHIFT_RIGHT, word, length - 1, place)


def _upper(value: Expression, place: Location) -> Expression:
    """The upper half of a word without a sign."""
    moved = _binary(BinaryOperator.SHIFT_RIGHT, value, 16, place)
    return _binary(BinaryOperator.BIT_AND, moved, _HALF, place)


def _binary(operator: BinaryOperator, left: Expression, right: int, place: Location) -> Binary:
    return Binary(operator, left, integer(right, place), place)

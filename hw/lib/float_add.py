"""Floating-point addition and subtraction. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hw.lib.cut_points import named
from hw.lib.float_parts import (
    Operand,
    at_most,
    shift_right_sticky,
)
from hw.lib.formats import FloatFormat

GUARD_BITS = 3


class Order(NamedTuple):
    """Two operands' bits by magnitude, and the sum's sign (in ``large``) and kind."""

    large: Value
    small: Value
    is_difference: Value
    is_cancelled: Value


def sum_bits(format: FloatFormat) -> int:
    """Width of the magnitude of a sum: a carry, the significand, guard, round and sticky bit."""
    return 1 + format.fraction + 1 + GUARD_BITS


def order(m: Module, a: Value, b: Value, subtract: Value, a_is_larger: Value) -> Order:
    """Which operand is the larger one, with the sign that it takes into the sum."""
    b_sign = named(m, "b_sign", b[-1] ^ subtract)
    large = named(m, "large", Mux(a_is_larger, a[:-1], b[:-1]))
    small = named(m, "small", Mux(a_is_larger, b[:-1], a[:-1]))
    sign = Mux(a_is_larger, a[-1], b_sign)
    is_difference = named(m, "is_difference", a[-1] ^ b_sign)
    return Order(
        large=named(m, "signed_large", Cat(large, sign)),
        small=named(m, "signed_small", Cat(small, sign ^ is_difference)),
        is_difference=is_difference,
        is_cancelled=named(m, "is_cancelled", is_difference & (large == small)),
    )


def alignment(m: Module, format: FloatFormat, large: Operand, small: Operand) -> Value:
    """How far the small significand moves right; more than a sum can see is cut to all ones."""
    difference = named(m, "difference", (large.exponent - small.exponent)[: format.exponent])
    return at_most(difference, (format.fraction + 1 + GUARD_BITS).bit_length())


def align(m: Module, significand: Value, amount: Value) -> Value:
    """The small significand with guard, round and sticky bit, moved to the large one's exponent."""
    return shift_right_sticky(m, Cat(Const(0, GUARD_BITS), significand), amount, "aligned")


def add_magnitudes(m: Module, large: Value, aligned: Value, is_difference: Value) -> Value:
    """The magnitude of the sum, of ``sum_bits``."""
    inverted = named(m, "inverted", Mux(is_difference, ~aligned, aligned))
    addend = Cat(inverted, is_difference)
    total = Cat(Const(0, GUARD_BITS), large) + addend + is_difference
    return named(m, "total", total[: len(aligned) + 1])


def sum_is_nan(large: Operand, small: Operand, is_difference: Value) -> Value:
    """Whether the sum of two ordered operands is NaN: one is (the large one), or inf - inf."""
    return large.is_nan | (small.is_infinite & is_difference)

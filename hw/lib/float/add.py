"""Floating-point addition and subtraction. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Value
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.float.parts import (
    Operand,
    at_most,
    shift_right_sticky,
)
from gnarl.hw.lib.formats import FloatFormat

GUARD_BITS = 3


def sum_bits(format: FloatFormat) -> int:
    """Width of the magnitude of a sum: a carry, the significand, guard, round and sticky bit."""
    return 1 + format.fraction + 1 + GUARD_BITS


def alignment(format: FloatFormat, difference: Value) -> Value:
    """How far the small significand moves right, from the difference of the exponents.

    More than a sum can see is cut to all ones.
    """
    return at_most(difference, (format.fraction + 1 + GUARD_BITS).bit_length())


def align(m: Module, significand: Value, amount: Value, is_difference: Value) -> Value:
    """The small significand with guard, round and sticky bit, moved to the large one's exponent.

    All of it is inverted where it is to be subtracted.
    """
    aligned = shift_right_sticky(m, Cat(Const(0, GUARD_BITS), significand), amount, "aligned")
    return named(m, "addend", Mux(is_difference, ~aligned, aligned))


def add_magnitudes(m: Module, large: Value, addend: Value, is_difference: Value) -> Value:
    """The magnitude of the sum, of ``sum_bits``; ``addend``: as ``align`` gives it."""
    total = Cat(Const(0, GUARD_BITS), large) + Cat(addend, is_difference) + is_difference
    return named(m, "total", total[: len(addend) + 1])


def sum_is_nan(a: Operand, b: Operand, is_difference: Value) -> Value:
    """Whether the sum of two operands is NaN: one is, or infinity - infinity."""
    return a.is_nan | b.is_nan | (a.is_infinite & b.is_infinite & is_difference)

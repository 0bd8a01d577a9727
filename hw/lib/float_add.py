"""Floating-point addition and subtraction. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from hw.lib.cut_points import CutPoints, named
from hw.lib.float_parts import (
    FINISH_DEPTHS,
    Operand,
    Pending,
    as_exponent,
    at_most,
    check_float,
    decode,
    finish,
    shift_right_sticky,
    special,
)
from hw.lib.formats import FloatFormat
from hw.lib.pipelined import Pipelined

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


class FloatAdder(Pipelined):
    """``o`` = ``a`` + ``b``, or ``a`` - ``b`` where ``subtract``; rounded to nearest even.

    Subnormals are numbers like others. An exact zero from operands that aren't zeros is +0. Any NaN
    or invalid operation gives the canonical NaN. One operation a cycle, no backpressure, no reset.

    Parameters: ``format`` of all three; ``stages`` >= 0, pipeline registers inside, the last one at
    the output.

    Members: ``a``, ``b``, ``subtract``, ``o``: bits.
    """

    def __init__(self, format: FloatFormat, stages: int) -> None:
        check_float(format)
        self._format = format
        super().__init__(
            {
                "a": In(format.width),
                "b": In(format.width),
                "subtract": In(1),
                "o": Out(format.width),
            },
            stages,
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        format = self._format
        cut = CutPoints(m, self._stages, [10, 8, 9, 10, *FINISH_DEPTHS])

        larger = named(m, "a_is_larger", self.a[:-1] >= self.b[:-1])
        s = cut(a=self.a, b=self.b, subtract=self.subtract, a_is_larger=larger)

        operands = order(m, s.a, s.b, s.subtract, s.a_is_larger)
        large = decode(m, format, operands.large, "large")
        small = decode(m, format, operands.small, "small")
        is_nan = named(m, "is_nan", sum_is_nan(large, small, operands.is_difference))
        pending = Pending(
            sign=large.sign & ~operands.is_cancelled,
            exponent=as_exponent(m, format, large.exponent, sum_bits(format)),
            is_bypassed=is_nan | large.is_infinite,
            bypass=special(format, is_nan, large.sign),
        )
        s = cut(
            pending=pending,
            large=large.significand,
            small=small.significand,
            amount=alignment(m, format, large, small),
            is_difference=operands.is_difference,
        )

        aligned = align(m, s.small, s.amount)
        s = cut(pending=s.pending, large=s.large, aligned=aligned, is_difference=s.is_difference)

        magnitude = add_magnitudes(m, s.large, s.aligned, s.is_difference)
        s = cut(pending=s.pending, magnitude=magnitude)

        m.d.comb += self.o.eq(finish(m, cut, format, s.pending, s.magnitude))
        return m

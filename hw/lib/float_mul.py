"""Floating-point multiplication. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib.wiring import In, Out

from hw.lib.cut_points import CutPoints, named
from hw.lib.float_parts import (
    FINISH_DEPTHS,
    Operand,
    Pending,
    as_exponent,
    check_float,
    decode,
    finish,
    special,
)
from hw.lib.formats import FloatFormat
from hw.lib.pipelined import Pipelined


def product_bits(format: FloatFormat) -> int:
    """Width of the magnitude of a product: at least what ``finish`` needs."""
    return max(2 * (format.fraction + 1), format.fraction + 3)


def product_is_nan(a: Operand, b: Operand) -> Value:
    """Whether the product is NaN: an operand is, or infinity times zero."""
    return a.is_nan | b.is_nan | (a.is_infinite & b.is_zero) | (a.is_zero & b.is_infinite)


def product_exponent(format: FloatFormat, a: Operand, b: Operand) -> Value:
    """The exponent of ``Pending`` for the product's magnitude, signed."""
    return a.exponent + b.exponent - format.bias


def multiply_magnitudes(m: Module, format: FloatFormat, a: Value, b: Value) -> Value:
    """The exact product of two significands, at the top of ``product_bits``."""
    product = named(m, "product", a * b)
    return Cat(Const(0, product_bits(format) - len(product)), product)


class FloatMultiplier(Pipelined):
    """``o`` = ``a`` * ``b``, rounded to nearest even.

    Subnormals are numbers like others. Any NaN or invalid operation gives the canonical NaN. One
    operation a cycle, no backpressure, no reset.

    Parameters: ``format`` of all three; ``stages`` >= 0, pipeline registers inside, the last one at
    the output.

    Members: ``a``, ``b``, ``o``: bits.
    """

    def __init__(self, format: FloatFormat, stages: int) -> None:
        check_float(format)
        self._format = format
        super().__init__(
            {"a": In(format.width), "b": In(format.width), "o": Out(format.width)}, stages
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        format = self._format
        cut = CutPoints(m, self._stages, [4, 12, 0, *FINISH_DEPTHS])

        a = decode(m, format, self.a, "a")
        b = decode(m, format, self.b, "b")
        sign = named(m, "sign", a.sign ^ b.sign)
        is_nan = named(m, "is_nan", product_is_nan(a, b))
        exponent = product_exponent(format, a, b)
        pending = Pending(
            sign=sign,
            exponent=as_exponent(m, format, exponent, product_bits(format)),
            is_bypassed=is_nan | a.is_infinite | b.is_infinite,
            bypass=special(format, is_nan, sign),
        )
        s = cut(pending=pending, a=a.significand, b=b.significand)

        magnitude = multiply_magnitudes(m, format, s.a, s.b)
        s = cut(pending=s.pending, magnitude=magnitude)
        s = cut(pending=s.pending, magnitude=s.magnitude)  # a multiplier block's own register

        m.d.comb += self.o.eq(finish(m, cut, format, s.pending, s.magnitude))
        return m

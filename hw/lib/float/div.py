"""Floating-point division. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data
from gnarl.hw.lib.float.iterative import (
    exponent_shape,
    normalise_significand,
    round_digits,
)
from gnarl.hw.lib.float.parts import Pending, check_float, decode, special
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.integer.digits import (
    OTHER_CYCLES,
    Division,
    check_bits_per_cycle,
    cycles_for,
    divide,
)
from gnarl.hw.lib.iterative import Iterative


class FloatDivider(Iterative):
    """Quotients as IEEE 754-2019 has them, one at a time, rounded to nearest even, with subnormals.

    Any NaN result is canonical. Latency: the cycles of fraction + 3 bits, and ``OTHER_CYCLES``,
    whatever the operands are.

    Parameters: ``format`` of operands and result; ``bits_per_cycle`` >= 1, of the quotient.

    Members: ``i``, stream of ``dividend`` and ``divisor``; ``o``, stream of quotients: bits.
    """

    def __init__(self, format: FloatFormat, bits_per_cycle: int = 1) -> None:
        check_float(format)
        check_bits_per_cycle(bits_per_cycle)
        self._format = format
        self._bits = bits_per_cycle
        self._steps = cycles_for(format.fraction + 3, bits_per_cycle)
        width = format.width
        operands = data.StructLayout({"dividend": width, "divisor": width})
        super().__init__(operands, width, self._steps + OTHER_CYCLES)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        format, exponents = self._format, exponent_shape(self._format)
        cycle = self._cycle(m)
        sign, is_nan, is_infinite, vanishes = (
            Signal(name=name, reset_less=True)
            for name in ("sign", "is_nan", "is_infinite", "vanishes")
        )
        # Before they are normalised, the remainder is the dividend.
        remainder = Signal(format.fraction + 1, reset_less=True)
        divisor = Signal(format.fraction + 1, reset_less=True)
        quotient = Signal(self._steps * self._bits, reset_less=True)
        dividend_exponent = Signal(exponents, reset_less=True)
        divisor_exponent = Signal(exponents, reset_less=True)
        exponent = Signal(exponents, reset_less=True)

        a = decode(m, format, self.i.payload.dividend, "dividend")
        b = decode(m, format, self.i.payload.divisor, "divisor")
        normal_a, exponent_a = normalise_significand(m, remainder, dividend_exponent)
        normal_b, exponent_b = normalise_significand(m, divisor, divisor_exponent)
        after = divide(m, Division(remainder, quotient), divisor, self._bits)
        with m.If(cycle == 0):
            m.d.sync += [
                sign.eq(a.sign ^ b.sign),
                is_nan.eq(
                    (a.is_nan | b.is_nan)
                    | (a.is_zero & b.is_zero)
                    | (a.is_infinite & b.is_infinite)
                ),
                is_infinite.eq(a.is_infinite | b.is_zero),
                vanishes.eq(b.is_infinite),
                remainder.eq(a.significand),
                divisor.eq(b.significand),
                dividend_exponent.eq(a.exponent),
                divisor_exponent.eq(b.exponent),
            ]
        with m.Elif(cycle == 1):
            # The dividend is below twice the divisor: all its bits but the last come at once.
            m.d.sync += [
                remainder.eq(normal_a[1:]),
                quotient.eq(Cat(Const(0, len(quotient) - 1), normal_a[0])),
                divisor.eq(normal_b),
                dividend_exponent.eq(exponent_a),
                divisor_exponent.eq(exponent_b),
            ]
        with m.Elif(cycle < self._steps + 2):
            m.d.sync += [remainder.eq(after.remainder), quotient.eq(after.quotient)]
        m.d.sync += exponent.eq(dividend_exponent - divisor_exponent + (format.bias - 1))

        zero = Cat(Const(0, format.width - 1), sign)
        pending = Pending(
            sign=sign,
            exponent=exponent,
            is_bypassed=is_nan | is_infinite | vanishes,
            bypass=Mux(is_nan | is_infinite, special(format, is_nan, sign), zero),
        )
        m.d.comb += self.o.payload.eq(round_digits(m, format, pending, quotient, remainder))
        return m

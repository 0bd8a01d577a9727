"""Floating-point square root. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.float.iterative import (
    exponent_shape,
    normalise_significand,
    round_digits,
)
from gnarl.hw.lib.float.parts import Pending, check_float, decode, special
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.integer.digits import (
    OTHER_CYCLES,
    Extraction,
    check_bits_per_cycle,
    cycles_for,
    extract,
)
from gnarl.hw.lib.iterative import Iterative


class FloatSquareRoot(Iterative):
    """Square roots as IEEE 754-2019 has them, one at a time, rounded to nearest even, with
    subnormals.

    That of -0 is -0; that of what is below, and of NaN, is the canonical NaN. Latency: the cycles
    of fraction + 2 bits, and ``OTHER_CYCLES``, whatever the operand is.

    Parameters: ``format`` of operand and result; ``bits_per_cycle`` >= 1, of the root.

    Members: ``i``, stream of operands; ``o``, stream of roots: bits.
    """

    def __init__(self, format: FloatFormat, bits_per_cycle: int = 1) -> None:
        check_float(format)
        check_bits_per_cycle(bits_per_cycle)
        self._format = format
        self._bits = bits_per_cycle
        self._steps = cycles_for(format.fraction + 2, bits_per_cycle)
        super().__init__(format.width, format.width, self._steps + OTHER_CYCLES)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        format, exponents = self._format, exponent_shape(self._format)
        cycle = self._cycle(m)
        sign, is_nan, is_infinite = (
            Signal(name=name, reset_less=True) for name in ("sign", "is_nan", "is_infinite")
        )
        # A significand first; then a number from 1 to 4.
        radicand = Signal(format.fraction + 2, reset_less=True)
        root = Signal(self._steps * self._bits, reset_less=True)
        remainder = Signal(len(root) + 1, reset_less=True)
        biased = Signal(exponents, reset_less=True)
        exponent = Signal(exponents, reset_less=True)

        x = decode(m, format, self.i.payload, "operand")
        normal, normal_exponent = normalise_significand(m, radicand[:-1], biased)
        is_odd = named(m, "is_odd", normal_exponent[0] ^ (format.bias & 1))
        after = extract(m, Extraction(remainder, radicand, root), self._bits)
        with m.If(cycle == 0):
            m.d.sync += [
                sign.eq(x.sign),
                is_nan.eq(x.is_nan | (x.sign & ~x.is_zero)),
                is_infinite.eq(x.is_infinite),
                radicand.eq(x.significand),
                biased.eq(x.exponent),
            ]
        with m.Elif(cycle == 1):
            m.d.sync += [
                radicand.eq(Mux(is_odd, Cat(Const(0, 1), normal), normal)),
                root.eq(0),
                remainder.eq(0),
                biased.eq(normal_exponent),
            ]
        with m.Elif(cycle < self._steps + 2):
            m.d.sync += [
                radicand.eq(after.radicand),
                root.eq(after.root),
                remainder.eq(after.remainder),
            ]
        m.d.sync += exponent.eq((biased - format.bias).shift_right(1) + (format.bias - 1))

        pending = Pending(
            sign=sign,
            exponent=exponent,
            is_bypassed=is_nan | is_infinite,
            bypass=special(format, is_nan, Const(0, 1)),
        )
        m.d.comb += self.o.payload.eq(round_digits(m, format, pending, root, remainder))
        return m

"""Conversion of integers to floating point. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import CutPoints, named
from gnarl.hw.lib.float.parts import (
    FINISH_DEPTHS,
    Pending,
    as_exponent,
    check_float,
    exponent_bits,
    finish,
)
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.pipelined import Pipelined


class FloatFromInteger(Pipelined):
    """``o`` is the signed integer ``i``, rounded to nearest even: one a cycle, no backpressure, no
    reset.

    Parameters: ``format`` of the result; ``width`` of the integer, at least fraction + 3 bits, and
    no more than its numbers need to be finite; ``stages`` >= 0, pipeline registers.

    Members: ``i``, ``o``: bits.
    """

    def __init__(self, format: FloatFormat, width: int, stages: int) -> None:
        check_float(format)
        least, most = format.fraction + 3, format.bias + 1
        if not least <= width <= most:
            raise ValueError(f"width = {width}: must be from {least} to {most}")
        self._format = format
        self._width = width
        super().__init__({"i": In(width), "o": Out(format.width)}, stages)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        format, width = self._format, self._width
        cut = CutPoints(m, self._stages, FINISH_DEPTHS)
        sign = self.i[-1]
        magnitude = named(m, "magnitude", Mux(sign, -self.i, self.i)[:width])
        pending = Pending(
            sign=sign,
            exponent=as_exponent(
                m, format, Const(format.bias + width - 2, exponent_bits(format, width)), width
            ),
            is_bypassed=Const(0, 1),
            bypass=Const(0, format.width),
        )
        m.d.comb += self.o.eq(finish(m, cut, format, pending, magnitude))
        return m

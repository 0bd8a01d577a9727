"""Division of whole numbers, a bit of the quotient a cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hw.lib.instanced import Instanced


class IntDiv(Instanced):
    """Divides unsigned numbers of ``width`` bits, one pair at a time.

    A division by zero gives a quotient of ones, and the dividend as remainder. Latency: ``latency``
    cycles from the one that takes operands to the one that offers the result, which stays until it
    is taken; other operands are taken in the cycle after. Restoring division, the highest bit
    first.

    Members: ``i`` in, a stream of ``dividend`` and ``divisor``; ``o`` out, a stream of ``quotient``
    and ``remainder``.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        number = unsigned(width)
        operands = data.StructLayout({"dividend": number, "divisor": number})
        result = data.StructLayout({"quotient": number, "remainder": number})
        super().__init__({"i": In(stream.Signature(operands)), "o": Out(stream.Signature(result))})

    @property
    def latency(self) -> int:
        return self._width + 1

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i, o = self.i, self.o
        left = Signal(range(self._width + 1))
        divisor = Signal(self._width)
        # Bits of the dividend leave as those of the quotient come in.
        quotient, remainder = Signal(self._width), Signal(self._width)
        is_full = Signal()
        shifted, difference = Signal(self._width + 1), Signal(self._width + 1)
        fits = Signal()
        m.d.comb += [
            i.ready.eq((left == 0) & ~is_full),
            o.valid.eq(is_full),
            o.payload.quotient.eq(quotient),
            o.payload.remainder.eq(remainder),
            shifted.eq(Cat(quotient[-1], remainder)),
            difference.eq(shifted - divisor),
            fits.eq(shifted >= divisor),
        ]
        with m.If(i.valid & i.ready):
            m.d.sync += [
                left.eq(self._width),
                divisor.eq(i.payload.divisor),
                quotient.eq(i.payload.dividend),
                remainder.eq(0),
            ]
        with m.Elif(left != 0):
            m.d.sync += [
                left.eq(left - 1),
                is_full.eq(left == 1),
                quotient.eq(Cat(fits, quotient)),
            ]
            with m.If(fits):
                m.d.sync += remainder.eq(difference)
            with m.Else():
                m.d.sync += remainder.eq(shifted)
        with m.Elif(o.ready):
            m.d.sync += is_full.eq(0)
        return m

"""Division of whole numbers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from gnarl.hw.lib.integer.digits import Division, check_bits_per_cycle, cycles_for, divide
from gnarl.hw.lib.iterative import Iterative


class IntegerDivider(Iterative):
    """Quotient and remainder of unsigned numbers, one division at a time.

    Where the divisor is 0, ``by_zero`` is set, the quotient is all ones, and the remainder is the
    dividend. Latency: the cycles of the quotient's bits, and one more.

    Parameters: ``width`` >= 1 of operands and results; ``bits_per_cycle`` >= 1, of the quotient.

    Members: ``i``, stream of ``dividend`` and ``divisor``; ``o``, stream of ``quotient``,
    ``remainder`` and ``by_zero``.
    """

    def __init__(self, width: int, bits_per_cycle: int = 1) -> None:
        if not isinstance(width, int) or isinstance(width, bool) or width < 1:
            raise ValueError(f"width = {width!r}: must be a whole number, at least 1")
        check_bits_per_cycle(bits_per_cycle)
        self._width = width
        self._bits = bits_per_cycle
        self._steps = cycles_for(width, bits_per_cycle)
        super().__init__(
            data.StructLayout({"dividend": width, "divisor": width}),
            data.StructLayout({"quotient": width, "remainder": width, "by_zero": 1}),
            1 + self._steps,
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        cycle = self._cycle(m)
        divisor = Signal(self._width, reset_less=True)
        remainder = Signal(self._width, reset_less=True)
        # Bits that the last cycle has in excess are zeros at the dividend's top.
        quotient = Signal(self._steps * self._bits, reset_less=True)
        after = divide(m, Division(remainder, quotient), divisor, self._bits)
        with m.If(cycle == 0):
            m.d.sync += [
                divisor.eq(self.i.payload.divisor),
                remainder.eq(0),
                quotient.eq(self.i.payload.dividend),
                self.o.payload.by_zero.eq(~self.i.payload.divisor.any()),
            ]
        with m.Elif(~self.o.valid):
            m.d.sync += [remainder.eq(after.remainder), quotient.eq(after.quotient)]
        m.d.comb += [
            self.o.payload.quotient.eq(quotient),
            self.o.payload.remainder.eq(remainder),
        ]
        return m

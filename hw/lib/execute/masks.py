"""Mask registers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import ALL_LANES, MASK_REGISTERS


class MaskFile(wiring.Component):
    """A read and two writes a cycle. Register 0 has all lanes, the others none after a reset.

    Members: ``index`` in, ``mask`` out, in the same cycle; ``compares``, ``compared_index``,
    ``compared`` in, a write; ``sets``, ``set_index``, ``value``, ``is_count`` in, another, which
    goes before the first: the lanes below ``value``, signed, or those of its bits.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        register = range(MASK_REGISTERS)
        super().__init__(
            {
                "index": In(register),
                "mask": Out(lanes),
                "compares": In(1),
                "compared_index": In(register),
                "compared": In(lanes),
                "sets": In(1),
                "set_index": In(register),
                "value": In(32),
                "is_count": In(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes, value = self._lanes, self.value
        below = Cat((value.as_signed() > lane) for lane in range(lanes))
        registers = []
        for number in range(MASK_REGISTERS):
            if number == ALL_LANES:
                registers.append(Const(-1, lanes))
                continue
            register = Signal(lanes, name=f"mask_{number}")
            with m.If(self.sets & (self.set_index == number)):
                m.d.sync += register.eq(Mux(self.is_count, below, value[:lanes]))
            with m.Elif(self.compares & (self.compared_index == number)):
                m.d.sync += register.eq(self.compared)
            registers.append(register)
        m.d.comb += self.mask.eq(Array(registers)[self.index])
        return m

"""Scalar registers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import SCALAR_REGISTERS
from gnarl.hw.lib.select import at_index

WRITE = data.StructLayout({"enable": 1, "index": unsigned(5), "value": unsigned(32)})
"""A scalar register takes a value."""


class ScalarFile(wiring.Component):
    """Three reads and two writes a cycle; never two of the same register. Registers are 0 after a
    reset.

    Members: ``indices`` in and ``values`` out, in the same cycle, with what is written in it;
    ``writes`` in, of ``WRITE``.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "indices": In(data.ArrayLayout(range(SCALAR_REGISTERS), 3)),
                "values": Out(data.ArrayLayout(32, 3)),
                "writes": In(data.ArrayLayout(WRITE, 2)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        registers = [Signal(32, name=f"register_{n}") for n in range(SCALAR_REGISTERS)]
        writes = [self.writes[number] for number in range(2)]
        for number in range(3):
            index, value = self.indices[number], self.values[number]
            m.d.comb += value.eq(at_index(registers, index))
            for write in writes:
                with m.If(write.enable & (write.index == index)):
                    m.d.comb += value.eq(write.value)
        for number, register in enumerate(registers):
            for write in writes:
                with m.If(write.enable & (write.index == number)):
                    m.d.sync += register.eq(write.value)
        return m

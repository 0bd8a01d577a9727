"""Vector registers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.lib.execute_isa import VECTOR_REGISTERS
from hw.lib.ram import TwoPortRam


class VectorFile(wiring.Component):
    """Three reads and a write a cycle. Latency: 1 cycle. Registers are undefined after a reset.

    Members: ``indices`` in, and ``values`` out in the next cycle, with what is written up to and in
    that cycle; ``write``, ``index``, ``value`` in.
    """

    def __init__(self, lanes: int) -> None:
        vector = data.ArrayLayout(32, lanes)
        self._width = vector.size
        super().__init__(
            {
                "indices": In(data.ArrayLayout(range(VECTOR_REGISTERS), 3)),
                "values": Out(data.ArrayLayout(vector, 3)),
                "write": In(1),
                "index": In(range(VECTOR_REGISTERS)),
                "value": In(vector),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        wrote = Signal()
        last_index, last_value = Signal.like(self.index), Signal(self._width)
        m.d.sync += [
            wrote.eq(self.write),
            last_index.eq(self.index),
            last_value.eq(self.value),
        ]
        for number in range(3):
            m.submodules[f"copy_{number}"] = ram = TwoPortRam(VECTOR_REGISTERS, self._width)
            index = Signal.like(self.index, name=f"index_{number}")
            value = self.values[number].as_value()
            m.d.sync += index.eq(self.indices[number])
            m.d.comb += [
                ram.read_address.eq(self.indices[number]),
                ram.read_enable.eq(1),
                ram.write_address.eq(self.index),
                ram.write_enable.eq(self.write),
                ram.write_data.eq(self.value),
                value.eq(ram.read_data),
            ]
            with m.If(self.write & (self.index == index)):
                m.d.comb += value.eq(self.value)
            with m.Elif(wrote & (last_index == index)):
                m.d.comb += value.eq(last_value)
        return m

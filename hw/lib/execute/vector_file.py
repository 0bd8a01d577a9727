"""Vector registers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import VECTOR_REGISTERS
from gnarl.hw.lib.memory.cleared_ram import ClearedRam


class VectorFile(wiring.Component):
    """Three reads and a write a cycle. Latency: 1 cycle. Registers are 0 after a reset.

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
        m.submodules.registers = registers = ClearedRam(VECTOR_REGISTERS, self._width, 3)
        m.d.comb += [
            registers.read_addresses.eq(self.indices),
            registers.read_enable.eq(1),
            registers.write_address.eq(self.index),
            registers.write_enable.eq(self.write),
            registers.write_data.eq(self.value),
        ]
        for number in range(3):
            index = Signal.like(self.index, name=f"index_{number}")
            value = self.values[number].as_value()
            m.d.sync += index.eq(self.indices[number])
            m.d.comb += value.eq(registers.read_data[number])
            with m.If(self.write & (self.index == index)):
                m.d.comb += value.eq(self.value)
            with m.Elif(wrote & (last_index == index)):
                m.d.comb += value.eq(last_value)
        return m

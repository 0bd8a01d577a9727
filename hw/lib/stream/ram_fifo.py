"""A FIFO memory in block RAM, with its oldest items in registers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.lib.stream.head_fifo import Fifo

_HEADS = 3
"""Items in registers: as many as are taken while one is read, from the cycle on in which there is
room for it, and one more."""


class RamFifo(Fifo):
    """Cycle for cycle what ``amaranth.lib.fifo.SyncFIFO`` is, in the form of block RAM.

    The memory of a ``SyncFIFO`` is read in the cycle of its address, which block RAM cannot do.
    Here the memory, a ``TwoPortRam``, has what registers have no room for.

    Parameters: ``width`` of items in bits; ``depth`` >= 4.

    Members: those of ``HeadFifo``.
    """

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        rows = self._depth - _HEADS + 1  # at least two items are in registers, or on their way
        m.submodules.ram = ram = TwoPortRam(rows, self._width)
        in_ram = Signal(range(rows + 1))
        arriving = Signal()  # what was read in the cycle before
        held = Signal(range(_HEADS + 1))
        items = [Signal(self._width, name=f"item_{place}") for place in range(_HEADS)]
        read_row, write_row = Signal(range(rows)), Signal(range(rows))

        has_room = held + arriving != _HEADS
        takes = self.r_rdy & self.r_en
        writes = self.w_en & self.w_rdy
        passes = (in_ram == 0) & has_room
        m.d.comb += [
            self.w_rdy.eq(self.level != self._depth),
            self.r_rdy.eq(held != 0),
            self.r_data.eq(items[0]),
            ram.read_address.eq(read_row),
            ram.read_enable.eq((in_ram != 0) & has_room),
            ram.write_address.eq(write_row),
            ram.write_data.eq(self.w_data),
            ram.write_enable.eq(writes & ~passes),
        ]
        for row, moves in ((read_row, ram.read_enable), (write_row, ram.write_enable)):
            with m.If(moves):
                m.d.sync += row.eq(Mux(row == rows - 1, 0, row + 1))
        left = Signal.like(held)
        m.d.comb += left.eq(held - takes)
        m.d.sync += [
            self.level.eq(self.level + writes - takes),
            in_ram.eq(in_ram + ram.write_enable - ram.read_enable),
            arriving.eq(ram.read_enable),
            held.eq(left + arriving + (writes & passes)),
        ]
        for place, item in enumerate(items):
            behind = items[place + 1] if place + 1 < _HEADS else item
            with m.If(place >= left):
                m.d.sync += item.eq(Mux(arriving & (left == place), ram.read_data, self.w_data))
            with m.Elif(takes):
                m.d.sync += item.eq(behind)
        return m

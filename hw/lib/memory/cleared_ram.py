"""A memory that a reset clears, at once."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.memory.ram import TwoPortRam


class ClearedRam(wiring.Component):
    """``rows`` words of ``width`` bits, ``reads`` reads and a write in a cycle. After a reset, all
    are 0: of each row a bit says whether it has been written since.

    A read of the row that is being written gives what the row held before.

    Members: ``read_addresses``; ``read_enable``, of all of them; ``read_data``, the words that were
    last read, from a cycle later on; ``write_address``; ``write_enable``; ``write_data``.

    Parameters: ``rows``: a power of two; ``width``; ``reads``.
    """

    def __init__(self, rows: int, width: int, reads: int) -> None:
        if rows < 1 or rows & rows - 1:
            raise ValueError(f"rows = {rows}: must be a power of two")
        self._rows = rows
        self._width = width
        self._reads = reads
        address = max(1, (rows - 1).bit_length())
        super().__init__(
            {
                "read_addresses": In(data.ArrayLayout(address, reads)),
                "read_enable": In(1),
                "read_data": Out(data.ArrayLayout(width, reads)),
                "write_address": In(address),
                "write_enable": In(1),
                "write_data": In(width),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        is_written = Signal(self._rows)
        with m.If(self.write_enable):
            m.d.sync += is_written.eq(is_written | (1 << self.write_address))
        for number in range(self._reads):
            m.submodules[f"copy_{number}"] = ram = TwoPortRam(self._rows, self._width)
            address, was_written = self.read_addresses[number], Signal(name=f"was_{number}")
            m.d.comb += [
                ram.read_address.eq(address),
                ram.read_enable.eq(self.read_enable),
                ram.write_address.eq(self.write_address),
                ram.write_enable.eq(self.write_enable),
                ram.write_data.eq(self.write_data),
                self.read_data[number].eq(Mux(was_written, ram.read_data, 0)),
            ]
            with m.If(self.read_enable):
                m.d.sync += was_written.eq((is_written >> address)[0])
        return m

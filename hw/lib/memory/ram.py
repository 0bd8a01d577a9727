"""The plainest memories, with one port or two, in the form that FPGA tools map to block RAM."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Instance, Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class Ram(wiring.Component):
    """A memory of ``rows`` words of ``width`` bits with one port: a read or a write in a cycle.

    What it holds before the first write is undefined, and so is a read from beyond the last row.

    Members: ``address``; ``read_enable``; ``write_enable``, which goes before ``read_enable``;
    ``write_data``; ``read_data``, the word that was last read, from a cycle later on.

    Platform overrides: ``get_ram(ram)`` returns another implementation.
    """

    def __init__(self, rows: int, width: int) -> None:
        self.rows = rows
        self.width = width
        super().__init__(
            {
                "address": In(max(1, (rows - 1).bit_length())),
                "read_enable": In(1),
                "write_enable": In(1),
                "write_data": In(width),
                "read_data": Out(width),
            }
        )

    def elaborate(self, platform: Any) -> Module | Instance:
        if hasattr(platform, "get_ram"):
            return platform.get_ram(self)
        m = Module()
        m.submodules.words = words = Memory(shape=unsigned(self.width), depth=self.rows, init=[])
        reader, writer = words.read_port(), words.write_port()
        m.d.comb += [
            reader.addr.eq(self.address),
            reader.en.eq(self.read_enable & ~self.write_enable),
            writer.addr.eq(self.address),
            writer.en.eq(self.write_enable),
            writer.data.eq(self.write_data),
            self.read_data.eq(reader.data),
        ]
        return m


class TwoPortRam(wiring.Component):
    """A memory of ``rows`` words of ``width`` bits with two ports: a read and a write in a cycle.

    What it holds before the first write is undefined, and so is a read from beyond the last row. A
    read of the row that is being written gives what the row held before.

    Members: ``read_address``; ``read_enable``; ``read_data``, the word that was last read, from a
    cycle later on; ``write_address``; ``write_enable``; ``write_data``.

    Platform overrides: ``get_two_port_ram(ram)`` returns another implementation.
    """

    def __init__(self, rows: int, width: int) -> None:
        self.rows = rows
        self.width = width
        address_bits = max(1, (rows - 1).bit_length())
        super().__init__(
            {
                "read_address": In(address_bits),
                "read_enable": In(1),
                "read_data": Out(width),
                "write_address": In(address_bits),
                "write_enable": In(1),
                "write_data": In(width),
            }
        )

    def elaborate(self, platform: Any) -> Module | Instance:
        if hasattr(platform, "get_two_port_ram"):
            return platform.get_two_port_ram(self)
        m = Module()
        m.submodules.words = words = Memory(shape=unsigned(self.width), depth=self.rows, init=[])
        reader, writer = words.read_port(), words.write_port()
        m.d.comb += [
            reader.addr.eq(self.read_address),
            reader.en.eq(self.read_enable),
            self.read_data.eq(reader.data),
            writer.addr.eq(self.write_address),
            writer.en.eq(self.write_enable),
            writer.data.eq(self.write_data),
        ]
        return m

"""The states of a cache's sets."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.memory.ram import TwoPortRam


class SetMemory(Instanced):
    """A read and a write of a row in a cycle; all rows are ``empty`` at first.

    A read in the cycle of a write gives what is written. Latency: 1 cycle.

    Parameters: ``rows``, a power of two, at least 2; ``width`` in bits; ``empty``, a row's value.

    Members: ``read_row``, ``read_enable`` in; ``state`` out, the row that was last read;
    ``write_row``, ``write_enable``, ``write_state`` in; ``ready`` out: the memory can be used, from
    ``rows`` cycles after a reset on.
    """

    def __init__(self, rows: int, width: int, empty: int) -> None:
        self._rows = rows
        self._width = width
        self._empty = empty
        row_bits = (rows - 1).bit_length()
        super().__init__(
            {
                "read_row": In(row_bits),
                "read_enable": In(1),
                "state": Out(width),
                "write_row": In(row_bits),
                "write_enable": In(1),
                "write_state": In(width),
                "ready": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.states = states = TwoPortRam(self._rows, self._width)
        emptied = Signal(range(self._rows + 1))  # rows
        newer = Signal()  # what was read was written in the same cycle
        written = Signal(self._width)
        m.d.comb += [
            self.ready.eq(emptied == self._rows),
            states.read_address.eq(self.read_row),
            states.read_enable.eq(self.read_enable),
            states.write_address.eq(Mux(self.ready, self.write_row, emptied)),
            states.write_enable.eq(self.write_enable | ~self.ready),
            states.write_data.eq(Mux(self.ready, self.write_state, self._empty)),
            self.state.eq(Mux(newer, written, states.read_data)),
        ]
        with m.If(~self.ready):
            m.d.sync += emptied.eq(emptied + 1)
        with m.If(self.read_enable):
            m.d.sync += [
                newer.eq(self.write_enable & (self.write_row == self.read_row)),
                written.eq(self.write_state),
            ]
        return m

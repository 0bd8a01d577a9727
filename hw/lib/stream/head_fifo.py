"""A FIFO memory whose oldest item is in registers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out


class Fifo(wiring.Component):
    """The ports of ``amaranth.lib.fifo.SyncFIFO``."""

    def __init__(self, *, width: int, depth: int) -> None:
        self._width = width
        self._depth = depth
        super().__init__(
            {
                "w_en": In(1),
                "w_data": In(width),
                "w_rdy": Out(1),
                "r_en": In(1),
                "r_data": Out(width),
                "r_rdy": Out(1),
                "level": Out(range(depth + 1)),
            }
        )


class _OneItem(Fifo):
    """A FIFO with room for one."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += [self.w_rdy.eq(~self.r_rdy), self.level.eq(self.r_rdy)]
        with m.If(self.r_rdy):
            m.d.sync += self.r_rdy.eq(~self.r_en)
        with m.Elif(self.w_en):
            m.d.sync += [self.r_rdy.eq(1), self.r_data.eq(self.w_data)]
        return m


class HeadFifo(Fifo):
    """Cycle for cycle what ``amaranth.lib.fifo.SyncFIFO`` is, but nothing is read behind its head.

    On FPGAs the memory of a ``SyncFIFO`` is look-up tables that its read pointer addresses, at the
    begin of every path from its output; here these paths begin in registers.

    Parameters: ``width`` of items in bits; ``depth`` >= 2.

    Members: ``w_en``, ``w_data`` in, ``w_rdy`` out: writes an item where there is room;
    ``r_en`` in, ``r_data``, ``r_rdy`` out: takes the oldest one where there is any; ``level`` out:
    number of items.
    """

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kind = _OneItem if self._depth == 2 else fifo.SyncFIFO
        m.submodules.rest = rest = kind(width=self._width, depth=self._depth - 1)
        takes = ~self.r_rdy | self.r_en
        m.d.comb += [
            self.w_rdy.eq(rest.w_rdy),
            self.level.eq(self.r_rdy + rest.level),
            rest.r_en.eq(takes),
            # Into the head, where nothing is before it.
            rest.w_en.eq(self.w_en & ~(takes & ~rest.r_rdy)),
            rest.w_data.eq(self.w_data),
        ]
        with m.If(takes):
            m.d.sync += [
                self.r_rdy.eq(rest.r_rdy | (self.w_en & rest.w_rdy)),
                self.r_data.eq(Mux(rest.r_rdy, rest.r_data, self.w_data)),
            ]
        return m

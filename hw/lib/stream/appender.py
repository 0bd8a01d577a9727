"""Writes the rows of an array, one after the other."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.stream.memory_ports import WritePort


class Appender(wiring.Component):
    """Gives each row its place. Latency: 0 cycles; throughput: a row a cycle.

    Parameters: ``width`` of row numbers; ``word_width`` in bits; ``rows`` of the array, one less
    than 2**width of which are used at most, so that their count has ``width`` bits; ``words`` of a
    row.

    Members: ``i`` in, arrays of words; ``array`` out, a ``WritePort``; ``count`` out: rows written
    so far; ``fault`` out: there is no place for the row at hand.
    """

    def __init__(self, width: int, word_width: int, rows: int, words: int = 1) -> None:
        self._rows = min(rows, (1 << width) - 1)
        super().__init__(
            {
                "i": In(stream.Signature(data.ArrayLayout(unsigned(word_width), words))),
                "array": Out(WritePort(width, word_width, words)),
                "count": Out(width),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        write = self.array.write
        with m.If(self.count == self._rows):
            m.d.comb += self.fault.eq(self.i.valid)
        with m.Else():
            m.d.comb += [write.valid.eq(self.i.valid), self.i.ready.eq(write.ready)]
        m.d.comb += [write.payload.address.eq(self.count), write.payload.data.eq(self.i.payload)]
        with m.If(write.valid & write.ready):
            m.d.sync += self.count.eq(self.count + 1)
        return m

"""Writes words to the rows of an array, one after the other."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.stream.memory_ports import WritePort


class Appender(wiring.Component):
    """Gives each word the next row. Latency: 0 cycles; throughput: a word a cycle.

    Parameters: ``width`` of row numbers; ``word_width`` in bits; ``rows`` of the array. One less
    than 2**width of them are used at most, so that their count has ``width`` bits.

    Members: ``i`` in, words; ``array`` out, a ``WritePort``; ``count`` out: words written so far;
    ``fault`` out: there is no row for the word at hand.
    """

    def __init__(self, width: int, word_width: int, rows: int) -> None:
        self._rows = min(rows, (1 << width) - 1)
        super().__init__(
            {
                "i": In(stream.Signature(unsigned(word_width))),
                "array": Out(WritePort(width, word_width)),
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

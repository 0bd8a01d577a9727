"""Values writer: the last block behind a result's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.appender import Appender
from gnarl.hw.lib.stream.memory_ports import WritePort
from gnarl.hw.sam.blocks.values.unit_row import ONE, words_at
from gnarl.hw.sam.step import is_data, is_done, is_stop
from gnarl.hw.sam.token import token_stream


class ValueWriter(Instanced):
    """Writes values one after the other, 0 for empty ones, whatever stops lie between them.

    Takes a token a cycle, as long as its memory does. Source: SAM, values writer.

    Parameters: ``format`` of values; ``width`` of row numbers; ``array_words``, rows of the array;
    ``places``, for each word of a row the word of the value that is written there.

    Members: ``val`` in; ``mem_vals``, a ``WritePort``; ``entries`` out: values written; ``done``
    out: so are all of them; ``fault`` out: the array is full.
    """

    def __init__(
        self,
        format: NumberFormat,
        width: int,
        array_words: int,
        places: Sequence[int] = ONE,
    ) -> None:
        self._array = width, format.width, array_words, len(places)
        self._places = places
        value_words = max(places) + 1
        super().__init__(
            {
                "val": In(token_stream(value_words * format.width)),
                "mem_vals": Out(WritePort(width, format.width, len(places))),
                "entries": Out(width),
                "done": Out(1),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.rows = rows = Appender(*self._array)
        wiring.connect(m, rows.array, wiring.flipped(self.mem_vals))
        val = self.val
        m.d.comb += [
            rows.i.payload.eq(words_at(val.payload.payload, self._places, self._array[1])),
            self.entries.eq(rows.count),
            self.fault.eq(rows.fault),
        ]
        with m.If(val.valid & ~self.done):
            with m.If(is_data(val)):
                m.d.comb += [rows.i.valid.eq(1), val.ready.eq(rows.i.ready)]
            with m.Elif(is_stop(val)):
                m.d.comb += val.ready.eq(1)
            with m.Elif(is_done(val)):
                m.d.comb += val.ready.eq(1)
                m.d.sync += self.done.eq(1)
        return m

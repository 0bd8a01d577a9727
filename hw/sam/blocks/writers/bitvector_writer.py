"""Fiber writer of a bitvector level."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.appender import Appender
from gnarl.hw.lib.stream.memory_ports import WritePort
from gnarl.hw.sam.block_types import BITVECTOR_BITS
from gnarl.hw.sam.step import is_done, is_stop
from gnarl.hw.sam.token import Kind, token_stream

_BIT_BITS = (BITVECTOR_BITS - 1).bit_length()


class BitvectorWriter(Instanced):
    """Writes each fiber as ``words`` words with a bit for each coordinate, and beside each how many
    ones there are before it: rows as lookups read them.

    With ``keep_empty`` every stop ends a fiber. Without, a stop right after another stop, or at the
    start, is passed over: such fibers have lost their coordinate in the level outside. Takes a
    token a cycle, as long as its memory does: a word is written while the first coordinate of the
    next one is taken, or the stop; each word of zeros beyond that takes a cycle of its own.

    Parameters: ``width`` of coordinates and row numbers; ``array_words``, rows of the array;
    ``keep_empty``.

    Members: ``words`` in, the setting; ``crd`` in, coordinates that rise in each fiber; ``mem_bv``,
    a ``WritePort``; ``rows``, ``entries`` out: words and ones written; ``done`` out: so are all of
    them; ``fault`` out: the array is full, or a coordinate is empty, does not rise, or is beyond
    the words.
    """

    def __init__(self, width: int, array_words: int, keep_empty: bool) -> None:
        self._keep_empty = keep_empty
        self._array = width, BITVECTOR_BITS, array_words, 2
        super().__init__(
            {
                "words": In(width),
                "crd": In(token_stream(width)),
                "mem_bv": Out(WritePort(width, BITVECTOR_BITS, 2)),
                "rows": Out(width),
                "entries": Out(width),
                "done": Out(1),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.array = rows = Appender(*self._array)
        wiring.connect(m, rows.array, wiring.flipped(self.mem_bv))
        crd = self.crd
        word = Signal.like(self.words)  # of the fiber, the one that is being filled
        bits = Signal(BITVECTOR_BITS)
        before = Signal.like(self.entries)  # ones before that word
        is_empty = Signal(init=1)
        is_last = word + 1 == self.words
        written = rows.i.valid & rows.i.ready

        bit = (1 << crd.payload.payload[:_BIT_BITS])[:BITVECTOR_BITS]
        place = crd.payload.payload[_BIT_BITS:]
        adds = Signal()
        m.d.comb += [
            rows.i.payload[0].eq(bits),
            rows.i.payload[1].eq(before),
            self.rows.eq(rows.count),
            self.fault.eq(rows.fault),
        ]
        with m.If(crd.valid & ~self.done):
            with m.If(crd.payload.kind == Kind.DATA):
                with m.If(self._is_wrong(place, word, bits, bit)):
                    m.d.comb += self.fault.eq(1)
                with m.Elif(place == word):
                    m.d.comb += [adds.eq(1), crd.ready.eq(1)]
                with m.Else():
                    m.d.comb += rows.i.valid.eq(1)
                    with m.If(place == word + 1):
                        m.d.comb += [adds.eq(rows.i.ready), crd.ready.eq(rows.i.ready)]
            with m.Elif(is_stop(crd)):
                with m.If((self.words != 0) & (~is_empty | self._keep_empty)):
                    m.d.comb += [rows.i.valid.eq(1), crd.ready.eq(rows.i.ready & is_last)]
                with m.Else():
                    m.d.comb += crd.ready.eq(1)
            with m.Elif(is_done(crd)):
                m.d.comb += crd.ready.eq(1)
                m.d.sync += self.done.eq(1)
            with m.Else():
                m.d.comb += self.fault.eq(1)

        with m.If(written):
            m.d.sync += [word.eq(word + 1), bits.eq(0), before.eq(self.entries)]
        with m.If(adds):
            m.d.sync += [
                bits.eq(bit | (bits & ~written.replicate(BITVECTOR_BITS))),
                self.entries.eq(self.entries + 1),
            ]
        with m.If(crd.ready):
            m.d.sync += is_empty.eq(is_stop(crd))
            with m.If(is_stop(crd)):
                m.d.sync += word.eq(0)
        return m

    def _is_wrong(self, place: Value, word: Value, bits: Value, bit: Value) -> Value:
        """The coordinate does not rise, is beyond the words, or is one more than can be counted."""
        from_bit = (~bit + 1)[:BITVECTOR_BITS]
        return (
            (place < word)
            | ((place == word) & (bits & from_bit).any())
            | (place >= self.words)
            | self.entries.all()
        )

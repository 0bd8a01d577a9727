"""Lines to words of a bank, and back."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute import isa
from gnarl.hw.sram_compute.bank.bank import WORD_BITS
from gnarl.hw.sram_compute.config import LINE_BITS

LOAD_CYCLES = LINE_WORDS
"""Cycles in which the words of a line are written, one each, from the one behind that in which it
comes, or behind the last of the line before."""

STORE_CYCLES = LINE_WORDS + 1
"""Cycles from that in which a line's first word is read until it is offered to memory."""


class LineCopier(Instanced):
    """Copies lines in order, a word a cycle. Words of one are accessed; another waits for that. Of
    those that go to memory, one more waits until it is taken.

    Members
    -------
    is_store
        in: lines go to memory; held while there is one.
    valid, ready, words, line
        in, out, in, in: a line comes, or is asked for; the number of its words in banks; it.
    word, accesses, writes, data
        out: the number of a word, whether it is accessed, and written.
    read
        in: the word that was read, in the cycle behind.
    ends, ended
        out: the last word of a line is written; the number of its words.
    gives, given, is_taken
        out, out, in: there is a line for memory; it; it is taken.
    """

    def __init__(self) -> None:
        words = isa.COPY["words"].shape
        super().__init__(
            {
                "is_store": In(1),
                "valid": In(1),
                "ready": Out(1),
                "words": In(words),
                "line": In(LINE_BITS),
                "word": Out(isa.WORD_BITS),
                "accesses": Out(1),
                "writes": Out(1),
                "data": Out(WORD_BITS),
                "read": In(WORD_BITS),
                "ends": Out(1),
                "ended": Out(words),
                "gives": Out(1),
                "given": Out(LINE_BITS),
                "is_taken": In(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        # The line that is accessed, or gathered; the next one; the one for memory, or the next
        # one's words.
        is_held, is_next = Signal(), Signal()
        held, other = Signal(LINE_BITS), Signal(LINE_BITS)
        words, next_words = Signal.like(self.words), Signal.like(self.words)
        place, is_accessed = Signal(range(LINE_WORDS)), Signal()
        last, gathers, leaves = Signal(), Signal(), Signal()
        comes, begins, following = Signal(), Signal(), Signal(LINE_BITS)
        m.d.comb += [
            self.ready.eq(~is_next),
            comes.eq(self.valid & self.ready),
            begins.eq(leaves | ~is_held),
            self.word.eq((words << (LINE_WORDS - 1).bit_length()) | place),
            self.accesses.eq(is_accessed),
            self.writes.eq(is_accessed & ~self.is_store),
            self.data.eq(held[:WORD_BITS]),
            last.eq(is_accessed & (place == LINE_WORDS - 1)),
            self.ends.eq(last & ~self.is_store),
            self.ended.eq(words),
            self.given.eq(other),
            following.eq(Cat(held[WORD_BITS:], self.read)),
        ]
        m.d.sync += gathers.eq(is_accessed & self.is_store)
        with m.If(self.writes | gathers):
            m.d.sync += held.eq(following)
        with m.If(is_accessed):
            m.d.sync += place.eq(place + 1)
        with m.If(last):
            m.d.sync += is_accessed.eq(0)
        m.d.comb += leaves.eq(
            Mux(self.is_store, self._gives(m, last, held, other, following), last)
        )
        with m.If(begins & (comes | is_next)):
            m.d.sync += [
                is_held.eq(1),
                is_accessed.eq(1),
                is_next.eq(0),
                place.eq(0),
                words.eq(Mux(is_next, next_words, self.words)),
            ]
            with m.If(~self.is_store):
                m.d.sync += held.eq(Mux(is_next, other, self.line))
        with m.Else():
            with m.If(leaves):
                m.d.sync += is_held.eq(0)
            with m.If(comes):
                m.d.sync += [is_next.eq(1), next_words.eq(self.words)]
                with m.If(~self.is_store):
                    m.d.sync += other.eq(self.line)
        return m

    def _gives(
        self, m: Module, last: Signal, held: Signal, other: Signal, following: Signal
    ) -> Value:
        """A line whose last word has been read waits until it is taken, as soon as the one before
        it has been. Whether it begins to, in this cycle."""
        is_read, is_whole, leaves = Signal(), Signal(), Signal()
        m.d.sync += is_read.eq(last & self.is_store)
        m.d.comb += leaves.eq((is_read | is_whole) & (~self.gives | self.is_taken))
        with m.If(leaves):
            m.d.sync += [
                other.eq(Mux(is_read, following, held)),
                self.gives.eq(1),
                is_whole.eq(0),
            ]
        with m.Else():
            with m.If(self.is_taken):
                m.d.sync += self.gives.eq(0)
            with m.If(is_read):
                m.d.sync += is_whole.eq(1)
        return leaves

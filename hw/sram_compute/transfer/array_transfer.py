"""Arrays from memory to tiles, transposed, and back. Source: Infinity Stream, section 5.2."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.line_port import LinePort
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.select import at_index
from gnarl.hw.sram_compute.bank.bank import WORD_BITS
from gnarl.hw.sram_compute.transfer.layout_walker import ENTRY, LayoutWalker
from gnarl.hw.sram_compute.transfer.line_transposer import (
    LineTransposer,
    tile_word_layout,
    transfer_layout,
)
from gnarl.hw.sram_compute.transfer.margins import inner_words, is_left_out


class ArrayTransfer(wiring.Component):
    """Hands lines to the transposers of their banks, in order, one a cycle; takes those that are to
    be stored in the same order. A line with tiles of several banks has all transposers' time: the
    first one does it.

    Parameters: ``lines`` of memory, ``wordlines``, ``bitlines``, ``arrays`` of a bank, ``banks``.

    Members
    -------
    transfer, entry, start
        in: a ``transfer_layout`` of the array with this ``ENTRY``, all three held until ``busy`` is
        0 again, but for ``start``, which is a pulse.
    busy
        out: from the cycle behind ``start`` on.
    port
        out: a ``LinePort`` to memory.
    words, accesses
        out: a ``tile_word_layout`` for each bank, and whether it is accessed.
    reads
        in: the word that was read of each bank, in the cycle behind; 0 of others.
    is_outside, is_beyond
        out: a line is none of memory; it has tiles beyond the last one.
    """

    def __init__(self, lines: int, wordlines: int, bitlines: int, arrays: int, banks: int) -> None:
        self._lines = lines
        self._size = (wordlines, bitlines, arrays * banks)
        self._arrays = arrays
        self._banks = banks
        self._numbers = range(banks)
        line_bits = (lines - 1).bit_length()
        super().__init__(
            {
                "transfer": In(transfer_layout(wordlines)),
                "entry": In(ENTRY),
                "start": In(1),
                "busy": Out(1),
                "port": Out(LinePort(line_bits, LINE_WORDS, 1)),
                "words": Out(data.ArrayLayout(tile_word_layout(*self._size), banks)),
                "accesses": Out(banks),
                "reads": In(data.ArrayLayout(WORD_BITS, banks)),
                "is_outside": Out(1),
                "is_beyond": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        transfer, entry = self.transfer, self.entry
        request, response = self.port.request, self.port.response
        _, bitlines, tiles = self._size
        m.submodules.asks = asks = LayoutWalker(self._lines, tiles, bitlines)
        m.submodules.places = places = LayoutWalker(self._lines, tiles, bitlines)
        transposers = [LineTransposer(*self._size) for _ in range(self._banks)]

        # Both walk in the same order: one asks for lines that are loaded, and takes those that are
        # stored; the other one hands them out.
        owner, giver = (Signal(range(max(2, self._banks))) for _ in range(2))
        idle = Cat(each.idle for each in transposers)
        is_shared, shares = Signal(), Signal()  # the next line; one that is under way, or was last
        may_go, goes = Signal(), Signal()
        # Lines of which nothing is transferred are passed over.
        placed, given = Signal(LINE_WORDS), Signal(LINE_WORDS)
        m.d.comb += [
            words.eq(inner_words(m, each.place, transfer, entry))
            for words, each in ((placed, places), (given, asks))
        ]
        passes, is_passed = Signal(), Signal()
        m.d.comb += [
            passes.eq(places.valid & is_left_out(placed, transfer)),
            is_passed.eq(asks.valid & is_left_out(given, transfer)),
            owner.eq(self._owner(places)),
            giver.eq(self._owner(asks)),
            is_shared.eq(self._is_shared(places)),
            may_go.eq(
                places.valid
                & ~passes
                & Mux(is_shared | shares, idle.all(), at_index(list(idle), owner))
            ),
            goes.eq(may_go & (transfer.is_store | response.valid)),
            response.ready.eq(may_go & ~transfer.is_store),
            asks.entry.eq(entry),
            asks.start.eq(self.start),
            asks.next.eq(request.valid & request.ready | is_passed),
            places.entry.eq(entry),
            places.start.eq(self.start),
            places.next.eq(goes | passes),
            request.valid.eq(
                asks.valid
                & ~is_passed
                & (~transfer.is_store | at_index([each.gives for each in transposers], giver))
            ),
            request.payload.line.eq(asks.line),
            request.payload.write.eq(Mux(transfer.is_store, given, 0)),
            request.payload.data.eq(at_index([each.line for each in transposers], giver)),
            self.busy.eq(asks.valid | places.valid | ~idle.all()),
            self.is_outside.eq(Mux(transfer.is_store, places.is_outside, asks.is_outside)),
            self.is_beyond.eq(Mux(transfer.is_store, places.is_beyond, asks.is_beyond)),
        ]
        with m.If(goes):
            m.d.sync += shares.eq(is_shared)

        for number, transposer in enumerate(transposers):
            m.submodules[f"transposer_{number}"] = transposer
            self._connect(m, number, transposer, places, goes & (owner == number), giver)
        self._share(m, shares, transposers[0])
        return m

    def _share(self, m: Module, shares: Signal, first: LineTransposer) -> None:
        """Where a line is shared, the first transposer accesses all banks that have elements of
        it."""
        word = first.word
        with m.If(shares):
            m.d.comb += first.read.eq(reduce(or_, (self.reads[each] for each in self._numbers)))
            for number in self._numbers:
                m.d.comb += [
                    self.words[number].eq(word),
                    self.accesses[number].eq(first.accesses & (self._bank(word.tile) == number)),
                ]

    def _connect(
        self,
        m: Module,
        number: int,
        transposer: LineTransposer,
        places: LayoutWalker,
        start: Value,
        giver: Signal,
    ) -> None:
        """A bank's transposer, which starts on the line of ``places``."""
        transfer, request = self.transfer, self.port.request
        m.d.comb += [
            transposer.transfer.eq(transfer),
            transposer.entry.eq(self.entry),
            transposer.start.eq(start),
            transposer.tile.eq(places.tile),
            transposer.bitline.eq(places.bitline),
            transposer.loaded.eq(self.port.response.payload.data),
            transposer.is_taken.eq(
                transfer.is_store & request.valid & request.ready & (giver == number)
            ),
            transposer.read.eq(self.reads[number]),
            self.words[number].eq(transposer.word),
            self.accesses[number].eq(transposer.accesses),
        ]

    def _bank(self, tile: Value) -> Value:
        return tile[(self._arrays - 1).bit_length() :]

    def _is_shared(self, walker: LayoutWalker) -> Value:
        """Whether a line has tiles of several banks."""
        return self._bank(walker.tile) != self._bank(walker.last_tile)

    def _owner(self, walker: LayoutWalker) -> Value:
        """The bank whose transposer does a line."""
        return Mux(self._is_shared(walker), 0, self._bank(walker.tile))

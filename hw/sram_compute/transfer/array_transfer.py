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
from gnarl.hw.sram_compute.wide_lines import is_wide


class ArrayTransfer(wiring.Component):
    """Hands lines to the transposers of their banks, in order, one a cycle; takes those that are to
    be stored in the same order. A line with tiles of several banks has all transposers' time: the
    first one does it. Where lines ``are_wide``, ``channels`` are one.

    Parameters: ``lines`` of memory, ``wordlines``, ``bitlines``, ``arrays`` of a bank, ``banks``,
    ``channels``.

    Members
    -------
    transfer, entry, start
        in: a ``transfer_layout`` of the array with this ``ENTRY``, all three held until ``busy`` is
        0 again, but for ``start``, which is a pulse.
    busy
        out: from the cycle behind ``start`` on.
    port, wide
        out: a ``LinePort`` to memory, whose lines are ``channels`` ones; whether a request is for
        all of them, or for one.
    words, accesses
        out: a ``tile_word_layout`` for each bank, and whether it is accessed.
    reads
        in: the word that was read of each bank, in the cycle behind; 0 of others.
    is_outside, is_beyond
        out: a line is none of memory; it has tiles beyond the last one.
    """

    def __init__(
        self, lines: int, wordlines: int, bitlines: int, arrays: int, banks: int, channels: int = 1
    ) -> None:
        self._lines = lines
        self._channels = channels
        self._size = (wordlines, bitlines, arrays * banks)
        self._arrays = arrays
        self._banks = banks
        self._numbers = range(banks)
        self._channel_bits = (channels - 1).bit_length()
        line_bits = (lines - 1).bit_length() - self._channel_bits
        super().__init__(
            {
                "transfer": In(transfer_layout(wordlines)),
                "entry": In(ENTRY),
                "start": In(1),
                "busy": Out(1),
                "port": Out(LinePort(line_bits, channels * LINE_WORDS, 1)),
                "wide": Out(1),
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
        walk = (self._lines, tiles, bitlines, self._channels)
        m.submodules.asks = asks = LayoutWalker(*walk)
        m.submodules.places = places = LayoutWalker(*walk)
        transposers = [LineTransposer(*self._size, self._channels) for _ in range(self._banks)]
        m.d.comb += self.wide.eq(is_wide(self._channels, entry))

        # Both walk in the same order: one asks for lines that are loaded, and takes those that are
        # stored; the other one hands them out.
        owner, giver = (Signal(range(max(2, self._banks))) for _ in range(2))
        idle = Cat(each.idle for each in transposers)
        is_shared, shares = Signal(), Signal()  # the next line; one that is under way, or was last
        may_go, goes = Signal(), Signal()
        # Lines of which nothing is transferred are passed over.
        words_of = self._channels * LINE_WORDS
        placed, given = Signal(words_of), Signal(words_of)
        wide = self.wide
        m.d.comb += [
            words.eq(inner_words(m, each.place, transfer, entry, self._channels, wide))
            for words, each in ((placed, places), (given, asks))
        ]
        passes, is_passed = Signal(), Signal()
        m.d.comb += [
            passes.eq(places.valid & is_left_out(placed, transfer, wide)),
            is_passed.eq(asks.valid & is_left_out(given, transfer, wide)),
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
            asks.wide.eq(self.wide),
            asks.start.eq(self.start),
            asks.next.eq(request.valid & request.ready | is_passed),
            places.entry.eq(entry),
            places.wide.eq(self.wide),
            places.start.eq(self.start),
            places.next.eq(goes | passes),
            request.valid.eq(
                asks.valid
                & ~is_passed
                & (~transfer.is_store | at_index([each.gives for each in transposers], giver))
            ),
            request.payload.line.eq(asks.line >> self._channel_bits),
            request.payload.write.eq(Mux(transfer.is_store, self._in_place(given, asks), 0)),
            request.payload.data.eq(
                self._everywhere(at_index([each.line for each in transposers], giver))
            ),
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
            transposer.wide.eq(self.wide),
            transposer.start.eq(start),
            transposer.tile.eq(places.tile),
            transposer.bitline.eq(places.bitline),
            transposer.loaded.eq(self._from_place(self.port.response.payload.data, places)),
            transposer.is_taken.eq(
                transfer.is_store & request.valid & request.ready & (giver == number)
            ),
            transposer.read.eq(self.reads[number]),
            self.words[number].eq(transposer.word),
            self.accesses[number].eq(transposer.accesses),
        ]

    def _in_place(self, words: Value, walker: LayoutWalker) -> Value:
        """A bit for each word of a line where that is in those of all channels."""
        if self._channels == 1:
            return words
        place = walker.line[: self._channel_bits]
        return Mux(self.wide, words, words[:LINE_WORDS] << place * LINE_WORDS)

    def _everywhere(self, line: Value) -> Value:
        """The line in each channel, or all of them if they are wide."""
        if self._channels == 1:
            return line
        one = line[: len(line) // self._channels]
        return Mux(self.wide, line, one.replicate(self._channels))

    def _from_place(self, lines: data.View, walker: LayoutWalker) -> Value:
        """The line of all channels' that a walker has, or all of them if they are wide."""
        whole = lines.as_value()
        if self._channels == 1:
            return whole
        size = len(whole) // self._channels
        place = walker.line[: self._channel_bits]
        one = at_index([whole[at : at + size] for at in range(0, len(whole), size)], place)
        return Mux(self.wide, whole, one)

    def _bank(self, tile: Value) -> Value:
        return tile[(self._arrays - 1).bit_length() :]

    def _is_shared(self, walker: LayoutWalker) -> Value:
        """Whether a line has tiles of several banks."""
        return self._bank(walker.tile) != self._bank(walker.last_tile)

    def _owner(self, walker: LayoutWalker) -> Value:
        """The bank whose transposer does a line."""
        return Mux(self._is_shared(walker), 0, self._bank(walker.tile))

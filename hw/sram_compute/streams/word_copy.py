"""Lines from memory to words of banks, and back."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.line_port import LinePort
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.select import at_index
from gnarl.hw.sram_compute import isa
from gnarl.hw.sram_compute.bank.bank import WORD_BITS
from gnarl.hw.sram_compute.streams.line_copier import LineCopier

PENDING = data.StructLayout(
    {"valid": 1, **{name: isa.COPY[name].shape for name in ("is_store", "words", "lines")}}
)
"""What is still to be copied: fields as of ``isa.COPY``."""

STRIP_LINES = isa.STRIP // LINE_WORDS
"""Lines that lie in a bank before the next ones lie in the next bank."""


class WordCopy(wiring.Component):
    """Copies lines in order, each by its bank's ``LineCopier``: memory is asked for one a cycle,
    and as many are under way as copiers have room for.

    Parameters: ``lines`` of memory, ``banks``.

    Members
    -------
    command, start
        in: an ``isa.COPY``, of lines that there are; a pulse.
    busy
        out: from the cycle behind ``start`` on.
    pending
        out: ``PENDING``: from the first line on that is not copied.
    port
        out: a ``LinePort`` to memory.
    words, accesses, writes, data
        out: of each bank, the number of a word, whether it is accessed, and written.
    read
        in: the words that were read, in the cycle behind.
    """

    def __init__(self, lines: int, banks: int) -> None:
        self._banks = banks
        line_bits = (lines - 1).bit_length()
        super().__init__(
            {
                "command": In(isa.COPY),
                "start": In(1),
                "busy": Out(1),
                "pending": Out(PENDING),
                "port": Out(LinePort(line_bits, LINE_WORDS, 1)),
                "words": Out(data.ArrayLayout(isa.WORD_BITS, banks)),
                "accesses": Out(banks),
                "writes": Out(banks),
                "data": Out(data.ArrayLayout(WORD_BITS, banks)),
                "read": In(data.ArrayLayout(WORD_BITS, banks)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        command, request, response = self.command, self.port.request, self.port.response
        is_store, line = Signal(), Signal.like(request.payload.line)
        # The first line that is not copied, and the next one for a copier; of memory, asked for.
        words, next_words = Signal.like(command.words), Signal.like(command.words)
        left, asked, undone = (Signal.like(command.lines) for _ in range(3))
        copiers = self._copiers(m)
        ready = at_index([each.ready for each in copiers], self._bank(next_words))
        gives = at_index([each.gives for each in copiers], self._bank(words))
        given = at_index([each.given for each in copiers], self._bank(words))
        comes, goes_on, is_asked = Signal(), Signal(), Signal()
        m.d.comb += [
            self.busy.eq(left != 0),
            self.pending.valid.eq(self.busy),
            self.pending.is_store.eq(is_store),
            self.pending.words.eq(words),
            self.pending.lines.eq(left),
            request.valid.eq(Mux(is_store, self.busy & gives, asked != 0)),
            request.payload.line.eq(line),
            request.payload.write.eq(is_store.replicate(LINE_WORDS)),
            request.payload.data.eq(given),
            response.ready.eq(self.busy & ~is_store & ready),
            comes.eq(Mux(is_store, undone != 0, self.busy & response.valid)),
            is_asked.eq(request.valid & request.ready),
            goes_on.eq(Mux(is_store, is_asked, self._is_copied(m, copiers, words, goes_on))),
        ]
        for bank, copier in enumerate(copiers):
            is_its = self._bank(next_words) == bank
            m.d.comb += [
                copier.is_store.eq(is_store),
                copier.valid.eq(comes & is_its),
                copier.words.eq(next_words),
                copier.line.eq(response.payload.data),
                copier.is_taken.eq(is_store & is_asked & (self._bank(words) == bank)),
            ]
        with m.If(self.start):
            m.d.sync += [
                is_store.eq(command.is_store),
                line.eq(command.line),
                words.eq(command.words),
                next_words.eq(command.words),
                *(each.eq(command.lines) for each in (left, asked, undone)),
            ]
        with m.Else():
            with m.If(is_asked):
                m.d.sync += [line.eq(line + 1), asked.eq(asked - 1)]
            with m.If(comes & ready):
                m.d.sync += [next_words.eq(next_words + 1), undone.eq(undone - 1)]
            with m.If(goes_on):
                m.d.sync += [words.eq(words + 1), left.eq(left - 1)]
        return m

    def _copiers(self, m: Module) -> list[LineCopier]:
        """One for each bank, connected to it."""
        copiers = []
        for bank in range(self._banks):
            m.submodules[f"copier_{bank}"] = copier = LineCopier()
            m.d.comb += [
                self.words[bank].eq(copier.word),
                self.accesses[bank].eq(copier.accesses),
                self.writes[bank].eq(copier.writes),
                self.data[bank].eq(copier.data),
                copier.read.eq(self.read[bank]),
            ]
            copiers.append(copier)
        return copiers

    def _bank(self, words: Value) -> Value:
        """The bank that has a line of words."""
        first, bits = (STRIP_LINES - 1).bit_length(), (self._banks - 1).bit_length()
        return words[first : first + bits] if bits else Const(0, 0)

    def _is_copied(
        self, m: Module, copiers: list[LineCopier], words: Value, goes_on: Value
    ) -> Value:
        """Whether a loaded line is in its bank. Banks have two lines under way at most, the next
        ones in order; so lines that are done before others of other banks are told apart by the low
        bits of their numbers."""
        count = STRIP_LINES * self._banks
        bits = (count - 1).bit_length()
        copied, done = Signal(count), Signal(count)
        ends = [Mux(each.ends, 1 << each.ended[:bits], 0) for each in copiers]
        m.d.comb += done.eq(copied | reduce(or_, ends))
        passed = Mux(goes_on, 1 << words[:bits], 0)
        m.d.sync += copied.eq(Mux(self.start, 0, done & ~passed))
        return self.busy & (done >> words[:bits])[0]

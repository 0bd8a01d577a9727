"""Lines from memory to words of banks, and back."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.line_port import LinePort
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute import isa
from gnarl.hw.sram_compute.bank.bank import WORD_BITS
from gnarl.hw.sram_compute.config import LINE_BITS

LOAD_CYCLES = LINE_WORDS
"""Cycles of a line, from the cycle behind that in which it comes until its last word is written."""

STORE_CYCLES = LINE_WORDS + 2
"""Cycles of a line, from the one before until it is offered to memory."""

PENDING = data.StructLayout(
    {"valid": 1, **{name: isa.COPY[name].shape for name in ("is_store", "words", "lines")}}
)
"""What is still to be copied: fields as of ``isa.COPY``."""


class _State(enum.Enum):
    IDLE = 0
    TAKE = 1
    SCATTER = 2
    GATHER = 3
    DRAIN = 4
    GIVE = 5


class WordCopy(wiring.Component):
    """Copies line by line, a word a cycle.

    Parameters: ``lines`` of memory.

    Members
    -------
    command, start
        in: an ``isa.COPY``, of lines that there are; a pulse.
    busy
        out: from the cycle behind ``start`` on.
    pending
        out: ``PENDING``.
    port
        out: a ``LinePort`` to memory.
    word, accesses, writes, data
        out: the number of a word, whether it is accessed, and written.
    read
        in: the word that was read, in the cycle behind.
    """

    def __init__(self, lines: int) -> None:
        line_bits = (lines - 1).bit_length()
        super().__init__(
            {
                "command": In(isa.COPY),
                "start": In(1),
                "busy": Out(1),
                "pending": Out(PENDING),
                "port": Out(LinePort(line_bits, LINE_WORDS, 1)),
                "word": Out(isa.WORD_BITS),
                "accesses": Out(1),
                "writes": Out(1),
                "data": Out(WORD_BITS),
                "read": In(WORD_BITS),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        command, request, response = self.command, self.port.request, self.port.response
        state, is_store = Signal(_State), Signal()
        line, words = Signal.like(request.payload.line), Signal.like(command.words)
        asked, left = Signal(unsigned(20)), Signal(unsigned(20))
        place = Signal(range(LINE_WORDS))
        held, gathers = Signal(LINE_BITS), Signal()
        ends_line, ends = Signal(), Signal()
        asks = (asked != 0) & ~is_store
        m.d.comb += [
            self.busy.eq(state != _State.IDLE),
            self.pending.valid.eq(self.busy),
            self.pending.is_store.eq(is_store),
            self.pending.words.eq(words),
            self.pending.lines.eq(left),
            self.word.eq((words << (LINE_WORDS - 1).bit_length()) | place),
            self.writes.eq(state == _State.SCATTER),
            self.accesses.eq(self.writes | (state == _State.GATHER)),
            self.data.eq(held[:WORD_BITS]),
            request.valid.eq(asks | (state == _State.GIVE)),
            request.payload.line.eq(line),
            request.payload.write.eq(is_store.replicate(LINE_WORDS)),
            request.payload.data.eq(held),
            response.ready.eq(state == _State.TAKE),
            ends.eq(left == 1),
        ]
        m.d.sync += gathers.eq(state == _State.GATHER)
        with m.If(self.start):
            m.d.sync += [
                is_store.eq(command.is_store),
                line.eq(command.line),
                words.eq(command.words),
                asked.eq(command.lines),
                left.eq(command.lines),
                place.eq(0),
            ]
        with m.Elif(request.valid & request.ready):
            m.d.sync += [line.eq(line + 1), asked.eq(asked - 1)]
        with m.If(response.valid & response.ready):
            m.d.sync += held.eq(response.payload.data)
        with m.Elif((state == _State.SCATTER) | gathers):
            m.d.sync += held.eq(held[WORD_BITS:])
            with m.If(gathers):
                m.d.sync += held[-WORD_BITS:].eq(self.read)
        with m.If(self.accesses):
            m.d.sync += place.eq(place + 1)
        with m.If(ends_line):
            m.d.sync += [words.eq(words + 1), left.eq(left - 1)]
        self._step(m, state, is_store, place, ends_line, ends)
        return m

    def _step(
        self,
        m: Module,
        state: Signal,
        is_store: Signal,
        place: Signal,
        ends_line: Signal,
        ends: Signal,
    ) -> None:
        """The state that follows; ``ends_line``, to be set: with the last word of a line."""
        command, request, response = self.command, self.port.request, self.port.response
        last_word = place == LINE_WORDS - 1
        begins = Mux(is_store, _State.GATHER, _State.TAKE)
        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(self.start):
                    m.d.sync += state.eq(Mux(command.is_store, _State.GATHER, _State.TAKE))
            with m.Case(_State.TAKE):
                with m.If(response.valid):
                    m.d.sync += state.eq(_State.SCATTER)
            with m.Case(_State.SCATTER):
                m.d.comb += ends_line.eq(last_word)
            with m.Case(_State.GATHER):
                with m.If(last_word):
                    m.d.sync += state.eq(_State.DRAIN)
            with m.Case(_State.DRAIN):
                m.d.sync += state.eq(_State.GIVE)
            with m.Case(_State.GIVE):
                m.d.comb += ends_line.eq(request.ready)
        with m.If(ends_line):
            m.d.sync += state.eq(Mux(ends, _State.IDLE, begins))

"""A main memory: lines, which take their time and share a channel."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from hw.lib.host import WindowSignature
from hw.lib.lines.line_port import LinePort, answer_layout
from hw.lib.memory import SharedMemory
from hw.lib.memory_map import Window

LEAST_LATENCY = 4
"""Cycles that memory and queue take by themselves."""


class LineMemory(wiring.Component):
    """A memory of lines, which is its port's while ``busy``, else the host's.

    The answer to a read is offered ``latency`` cycles after the read is taken, or as soon as those
    before it are taken; answers come in the order of reads. All requests share a channel of
    ``words_per_cycle`` words a cycle: a read holds it as long as its line takes, a write as long as
    the pieces do that it writes to; the next request is taken behind it. What is written is there
    for every request behind it.

    Parameters: ``window``, whose rows are lines; ``words_per_cycle``, at most a line;
    ``latency``, at least ``LEAST_LATENCY``; ``tag_bits``.

    Members: ``port``, a ``LinePort`` in; ``host``, a ``WindowSignature`` in; ``busy`` in; ``idle``
    out: no request is under way.
    """

    def __init__(self, window: Window, words_per_cycle: int, latency: int, tag_bits: int) -> None:
        self._window = window
        self._words_per_cycle = words_per_cycle
        self._latency = latency
        self._tag_bits = tag_bits
        super().__init__(
            {
                "port": In(LinePort(window.rows, window.words, tag_bits)),
                "host": In(WindowSignature(window)),
                "busy": In(1),
                "idle": Out(1),
            }
        )

    @property
    def reads_in_flight(self) -> int:
        """As many as keep the channel full when answers are taken at once."""
        return -(-self._latency // (self._window.words // self._words_per_cycle)) + 1

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        request = self.port.request
        m.submodules.memory = memory = SharedMemory(self._window)
        wiring.connect(m, memory.host, wiring.flipped(self.host))
        m.d.comb += memory.busy.eq(self.busy)

        words = self._window.words
        is_write = request.payload.write.any()
        pieces = Cat(
            request.payload.write[first : first + self._words_per_cycle].any()
            for first in range(0, words, self._words_per_cycle)
        )
        held = Signal(range(len(pieces) + 1))  # cycles more that the channel is held
        takes = Signal(len(held))
        m.d.comb += takes.eq(Mux(is_write, sum(pieces[1:], pieces[0]), len(pieces)))
        under_way = Signal(range(self.reads_in_flight + 1))
        has_room = is_write | (under_way != self.reads_in_flight)
        taken, reads = Signal(), Signal()
        m.d.comb += [
            request.ready.eq((held == 0) & has_room),
            taken.eq(request.valid & request.ready),
            reads.eq(taken & ~is_write),
            memory.core.row.eq(request.payload.line),
            memory.core.read_enable.eq(reads),
            memory.core.write_enable.eq(Mux(taken, request.payload.write, 0)),
            memory.core.write_data.eq(request.payload.data),
            self.idle.eq((held == 0) & (under_way == 0)),
        ]
        with m.If(taken):
            m.d.sync += held.eq(takes - 1)
        with m.Elif(held != 0):
            m.d.sync += held.eq(held - 1)
        m.d.sync += under_way.eq(under_way + reads - self._answer(m, memory, reads))
        return m

    def _answer(self, m: Module, memory: SharedMemory, reads: Signal) -> Signal:
        """Keeps what is read until its time has come. Gives when an answer is taken."""
        answer = self.port.answer
        layout = answer_layout(self._window.words, self._tag_bits)
        m.submodules.answers = answers = SyncFIFOBuffered(
            width=layout.size, depth=self.reads_in_flight
        )
        arrives, tag = Signal(), Signal(self._tag_bits)
        m.d.sync += [arrives.eq(reads), tag.eq(self.port.request.payload.tag)]
        delay = Signal(self._latency - 1)
        due = Signal(range(self.reads_in_flight + 1))
        gives = Signal()
        m.d.sync += [delay.eq(Cat(reads, delay)), due.eq(due + delay[-1] - gives)]
        m.d.comb += [
            answers.w_en.eq(arrives),
            answers.w_data.eq(Cat(tag, memory.core.read_data)),
            answer.valid.eq(due != 0),
            answer.payload.eq(answers.r_data),
            gives.eq(answer.valid & answer.ready),
            answers.r_en.eq(gives),
        ]
        return gives

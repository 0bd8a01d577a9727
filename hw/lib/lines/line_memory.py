"""A memory of lines with the latency and the bandwidth of one that is far away."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.line_port import LinePort
from gnarl.hw.lib.machine.host import WindowSignature
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.memory.shared import SharedMemory

MEMORY = "memory"
"""Instance name of the ``SharedMemory`` of a ``LineMemory``."""


class LineMemory(wiring.Component):
    """A memory of lines behind one channel, which is the core's while ``busy``, else the host's.

    A request has the channel for ``piece_cycles`` for each piece of ``piece_words`` words that it
    moves: a read all of its line's, a write those that hold a word it writes. The next one is
    accepted in the cycle after. A read's answer is offered ``latency`` cycles after the request was
    accepted, or as soon as the answers before it were taken; answers come in order. ``in_flight``
    reads can be under way, if not given enough to keep the channel full while nobody stalls.

    Lines are undefined until they are written, also by a reset during a run.

    Parameters: ``window``, whose rows are the lines, of words of 32 bits; ``piece_words``, a
    divisor of the window's words; ``latency`` >= 2, in cycles; ``tag_bits``; ``piece_cycles``;
    ``in_flight``.

    Members: ``port``, a ``LinePort`` in, whose flags for caches mean nothing here; ``busy`` in;
    ``host``, a ``WindowSignature`` in; ``moves`` out: the channel is in use in this cycle.
    While ``busy`` is 0 no request is accepted.
    """

    def __init__(
        self,
        window: Window,
        piece_words: int,
        latency: int,
        tag_bits: int,
        piece_cycles: int = 1,
        in_flight: int | None = None,
    ) -> None:
        self._window = window
        self._piece_words = piece_words
        self._piece_cycles = piece_cycles
        self._latency = latency
        self._read_cycles = window.words // piece_words * piece_cycles
        self._in_flight = latency // self._read_cycles + 1 if in_flight is None else in_flight
        super().__init__(
            {
                "port": In(LinePort(max(1, window.row_bits), window.words, tag_bits)),
                "busy": In(1),
                "host": In(WindowSignature(window)),
                "moves": Out(1),
            }
        )

    @property
    def in_flight(self) -> int:
        """Reads whose answers were not taken yet, at most."""
        return self._in_flight

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules[MEMORY] = memory = SharedMemory(self._window)
        wiring.connect(m, memory.host, wiring.flipped(self.host))
        request, response = self.port.request, self.port.response
        asked = request.payload
        reads = asked.write == 0

        channel = Signal(range(max(2, self._read_cycles)))  # cycles for which it is still taken
        under_way = Signal(range(self.in_flight + 1))
        accepted = Signal()
        read = Signal()
        m.d.comb += [
            # Not only for reads: whether there is room must not depend on the request.
            request.ready.eq(self.busy & (channel == 0) & (under_way != self.in_flight)),
            accepted.eq(request.valid & request.ready),
            read.eq(accepted & reads),
            memory.busy.eq(self.busy),
            memory.core.row.eq(asked.line),
            memory.core.read_enable.eq(read),
            memory.core.write_enable.eq(Mux(accepted, asked.write, 0)),
            memory.core.write_data.eq(asked.data),
            self.port.idle.eq((channel == 0) & (under_way == 0)),
            self.moves.eq(accepted | (channel != 0)),
        ]
        with m.If(accepted):
            write_cycles = self._written_pieces(asked.write) * self._piece_cycles
            m.d.sync += channel.eq(Mux(reads, self._read_cycles, write_cycles) - 1)
        with m.Elif(channel != 0):
            m.d.sync += channel.eq(channel - 1)

        # Lines wait for their time behind the memory, where later writes don't reach them.
        m.submodules.lines = lines = fifo.SyncFIFO(
            width=len(response.payload.as_value()), depth=max(2, self.in_flight)
        )
        tag = Signal.like(asked.tag)
        delay = Signal(self._latency - 1)
        due = Signal.like(under_way)
        taken = Signal()
        m.d.sync += [
            tag.eq(asked.tag),
            delay.eq(Cat(read, delay)),
            under_way.eq(under_way + read - taken),
            due.eq(due + delay[-1] - taken),
        ]
        m.d.comb += [
            lines.w_en.eq(delay[0]),
            lines.w_data.eq(Cat(tag, memory.core.read_data)),
            response.valid.eq(due != 0),
            response.payload.eq(lines.r_data),
            taken.eq(response.valid & response.ready),
            lines.r_en.eq(taken),
        ]
        return m

    def _written_pieces(self, write: Any) -> Any:
        """How many pieces hold a word of the mask ``write``."""
        step = self._piece_words
        return sum(write[at : at + step].any() for at in range(0, self._window.words, step))

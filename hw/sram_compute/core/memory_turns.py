"""Commands and copies share main memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.line_port import LinePort
from gnarl.hw.lib.lines.line_size import LINE_WORDS


class MemoryTurns(wiring.Component):
    """The request that comes first goes first; of two at once, that of the fetch. Latency: 0
    cycles. Answers go back by their tags, in order: one that is not taken holds up the other's.

    Parameters: ``line_bits``.

    Members: ``fetch``, ``copy`` in, ``down`` out: a ``LinePort`` each; ``is_fetch`` out: whose
    request it is that ``down`` has.
    """

    def __init__(self, line_bits: int) -> None:
        port = LinePort(line_bits, LINE_WORDS, 1)
        super().__init__(
            {"fetch": In(port), "copy": In(port), "down": Out(port), "is_fetch": Out(1)}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        request, response = self.down.request, self.down.response
        fetch, copy = self.fetch.request, self.copy.request
        is_held, was_fetch = Signal(), Signal()
        m.d.comb += [
            self.is_fetch.eq(Mux(is_held, was_fetch, fetch.valid)),
            request.valid.eq(fetch.valid | copy.valid),
            request.payload.eq(Mux(self.is_fetch, fetch.payload, copy.payload)),
            request.payload.tag.eq(self.is_fetch),
            fetch.ready.eq(request.ready & self.is_fetch),
            copy.ready.eq(request.ready & ~self.is_fetch),
            self.fetch.idle.eq(self.down.idle),
            self.copy.idle.eq(self.down.idle),
        ]
        m.d.sync += [
            is_held.eq(request.valid & ~request.ready),
            was_fetch.eq(self.is_fetch),
        ]
        for port, is_its in (
            (self.fetch, response.payload.tag[0]),
            (self.copy, ~response.payload.tag[0]),
        ):
            m.d.comb += [
                port.response.valid.eq(response.valid & is_its),
                port.response.payload.eq(response.payload),
            ]
            with m.If(is_its):
                m.d.comb += response.ready.eq(port.response.ready)
        return m

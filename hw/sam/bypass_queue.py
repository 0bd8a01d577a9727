"""The queue for tokens that wait for something, inside of a block."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux
from amaranth.lib import data, fifo, wiring
from amaranth.lib.wiring import In, Out

from hw.sam.token import token_layout, token_stream


class BypassQueue(wiring.Component):
    """A stream with room for ``depth`` tokens. Latency: 0 cycles; one token a cycle.

    So a token that has nothing to wait for isn't late. Whether ``i`` is ready depends on nothing
    else in the same cycle.

    Parameters: ``width`` of payloads; ``depth`` >= 2.

    Members: ``i`` in, ``o`` out; ``level`` and ``first`` out: how many tokens have waited, and the
    one among them that ``o`` offers, for those who must not depend on ``i`` in the same cycle.
    """

    def __init__(self, width: int, depth: int) -> None:
        self._layout = token_layout(width)
        self._depth = depth
        super().__init__(
            {
                "i": In(token_stream(width)),
                "o": Out(token_stream(width)),
                "level": Out(range(depth + 1)),
                "first": Out(self._layout),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i, o = self.i, self.o
        m.submodules.tokens = tokens = fifo.SyncFIFO(width=self._layout.size, depth=self._depth)
        passes = ~tokens.r_rdy & o.ready
        m.d.comb += [
            self.level.eq(tokens.level),
            self.first.eq(data.View(self._layout, tokens.r_data)),
            o.valid.eq(tokens.r_rdy | i.valid),
            o.payload.eq(Mux(tokens.r_rdy, tokens.r_data, i.payload.as_value())),
            tokens.r_en.eq(o.ready),
            i.ready.eq(tokens.w_rdy),
            tokens.w_en.eq(i.valid & ~passes),
            tokens.w_data.eq(i.payload.as_value()),
        ]
        return m

"""The control queue: tokens."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out


class TokenQueue(wiring.Component):
    """A queue of ``depth`` tokens, of ``width`` bits. Latency: 2 cycles, as the ``DataQueue``'s,
    so that no token is visible before words that were put before it; one a cycle.

    Source: Ember, section IV.

    Members: ``i`` in, ``o`` out: streams of tokens; ``room`` out: how many ``i`` takes at least.
    """

    def __init__(self, depth: int, width: int) -> None:
        self._depth = depth
        self._width = width
        super().__init__(
            {
                "i": In(stream.Signature(unsigned(width))),
                "o": Out(stream.Signature(unsigned(width))),
                "room": Out(range(depth + 1)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        # One more than there is room for, as in the data queue.
        m.submodules.tokens = tokens = SyncFIFOBuffered(width=self._width, depth=self._depth + 1)
        m.d.comb += [
            tokens.w_en.eq(self.i.valid),
            tokens.w_data.eq(self.i.payload),
            self.i.ready.eq(tokens.w_rdy),
            self.room.eq(self._depth - tokens.level),
            self.o.valid.eq(tokens.r_rdy),
            self.o.payload.eq(tokens.r_data),
            tokens.r_en.eq(self.o.ready),
        ]
        return m

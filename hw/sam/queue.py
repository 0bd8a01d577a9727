"""The queue in front of every input of every block."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data, fifo, wiring
from amaranth.lib.wiring import In, Out

from hw.sam.token import token_layout, token_stream


class Queue(wiring.Component):
    """A stream with room for ``depth`` tokens. Latency: 1 cycle; one token a cycle if depth >= 2.

    Parameters: ``width`` of payloads; ``depth`` >= 2.   Members: ``i`` in, ``o`` out.
    """

    def __init__(self, width: int, depth: int) -> None:
        self._width = width
        self._depth = depth
        super().__init__({"i": In(token_stream(width)), "o": Out(token_stream(width))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        layout = token_layout(self._width)
        m.submodules.tokens = tokens = fifo.SyncFIFO(width=layout.size, depth=self._depth)
        m.d.comb += [
            tokens.w_en.eq(self.i.valid),
            tokens.w_data.eq(self.i.payload.as_value()),
            self.i.ready.eq(tokens.w_rdy),
            self.o.valid.eq(tokens.r_rdy),
            self.o.payload.eq(data.View(layout, tokens.r_data)),
            tokens.r_en.eq(self.o.ready),
        ]
        return m

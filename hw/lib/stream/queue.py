"""A queue between the one who gives and the one who takes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Shape, ShapeLike, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.head_fifo import HeadFifo
from gnarl.hw.lib.stream.ram_fifo import RamFifo

MOST_IN_LOGIC = 64
"""Items beyond which a queue is in block RAM."""


class Queue(Instanced):
    """A stream with room for ``depth`` items. Latency: 1 cycle; one item a cycle if depth >= 2.

    Those of more than ``MOST_IN_LOGIC`` items are in block RAM, and the same in all cycles.

    Parameters: ``shape`` of payloads; ``depth`` >= 2.   Members: ``i`` in, ``o`` out.
    """

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self._width = Shape.cast(shape).width
        self._depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kind = HeadFifo if self._depth <= MOST_IN_LOGIC else RamFifo
        m.submodules.items = items = kind(width=self._width, depth=self._depth)
        m.d.comb += [
            items.w_en.eq(self.i.valid),
            items.w_data.eq(self.i.payload),
            self.i.ready.eq(items.w_rdy),
            self.o.valid.eq(items.r_rdy),
            Value.cast(self.o.payload).eq(items.r_data),
            items.r_en.eq(self.o.ready),
        ]
        return m

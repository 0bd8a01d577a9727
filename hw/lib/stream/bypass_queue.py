"""A queue for what waits for something, inside of a component."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Shape, ShapeLike, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.stream.head_fifo import HeadFifo


class BypassQueue(wiring.Component):
    """A stream with room for ``depth`` items. Latency: 0 cycles; one item a cycle.

    So an item that has nothing to wait for isn't late. Whether ``i`` is ready depends on nothing
    else in the same cycle.

    Parameters: ``shape`` of payloads; ``depth`` >= 2.

    Members: ``i`` in, ``o`` out; ``level`` and ``first`` out: how many items have waited, and the
    one among them that ``o`` offers, for those who must not depend on ``i`` in the same cycle.
    """

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self._width = Shape.cast(shape).width
        self._depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
                "first": Out(shape),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i, o = self.i, self.o
        m.submodules.items = items = HeadFifo(width=self._width, depth=self._depth)
        item = Value.cast(i.payload)
        passes = ~items.r_rdy & o.ready
        m.d.comb += [
            self.level.eq(items.level),
            Value.cast(self.first).eq(items.r_data),
            o.valid.eq(items.r_rdy | i.valid),
            Value.cast(o.payload).eq(Mux(items.r_rdy, items.r_data, item)),
            items.r_en.eq(o.ready),
            i.ready.eq(items.w_rdy),
            items.w_en.eq(i.valid & ~passes),
            items.w_data.eq(item),
        ]
        return m

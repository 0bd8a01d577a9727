"""How often each of many things has happened in a run."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class Counters(wiring.Component):
    """A counter for each event. Parameters: ``events``, how many; ``width`` of a count in bits.

    Members: ``happens`` in, a bit for each event; ``watch`` in: this cycle's count; ``clear`` in:
    all to 0; ``o`` out, the counts, those of events up to the cycle before.
    """

    def __init__(self, events: int, width: int) -> None:
        self._events = events
        super().__init__(
            {
                "happens": In(events),
                "watch": In(1),
                "clear": In(1),
                "o": Out(data.ArrayLayout(width, events)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for event in range(self._events):
            with m.If(self.watch & self.happens[event]):
                m.d.sync += self.o[event].eq(self.o[event] + 1)
        with m.If(self.clear):
            m.d.sync += self.o.eq(0)
        return m

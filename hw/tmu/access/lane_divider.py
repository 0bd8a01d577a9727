"""Division for the lanes of a layer, one after the other."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.integer.div import IntegerDivider


class LaneDivider(wiring.Component):
    """Divides ``a`` by ``b`` in the lanes in use, with one divider.

    Members: ``asks`` in, until ``done``, out, when ``values`` holds the results, and stays until
    ``taken``, in; ``a``, ``b`` in, which stay the same, words by lane; ``first`` in: the first
    of them, and ``lanes_in_use``, in, how many, at least 1; ``wants_remainder`` in: remainders, not
    quotients.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        words = data.ArrayLayout(unsigned(32), lanes)
        super().__init__(
            {
                "asks": In(1),
                "done": Out(1),
                "taken": In(1),
                "a": In(words),
                "b": In(words),
                "first": In(range(lanes)),
                "lanes_in_use": In(range(lanes + 1)),
                "wants_remainder": In(1),
                "values": Out(words),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.divider = divider = IntegerDivider(32)
        done = Signal(range(self._lanes + 1))
        lane = Signal(range(self._lanes))
        result = divider.o.payload
        is_busy = Signal()
        m.d.comb += [
            lane.eq(self.first + done),
            self.done.eq(done == self.lanes_in_use),
            divider.i.valid.eq(self.asks & ~self.done & ~is_busy),
            divider.i.payload.dividend.eq(Array(self.a)[lane]),
            divider.i.payload.divisor.eq(Array(self.b)[lane]),
            divider.o.ready.eq(1),
        ]
        with m.If(divider.i.valid & divider.i.ready):
            m.d.sync += is_busy.eq(1)
        with m.If(divider.o.valid):
            word = Mux(self.wants_remainder, result.remainder, result.quotient)
            m.d.sync += [is_busy.eq(0), Array(self.values)[lane].eq(word), done.eq(done + 1)]
        with m.If(~self.asks | self.taken):
            m.d.sync += done.eq(0)
        return m

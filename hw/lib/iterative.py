"""What all iterative datapaths have in common."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced


class Iterative(Instanced):
    """A datapath that works on one item at a time, and gives its result ``latency`` cycles later.

    The next item is taken in the cycle after the result was accepted, so one every ``latency`` + 1
    cycles. Whether an end is ready or valid depends on nothing else in the same cycle.

    Parameters: shapes ``taken`` and ``given`` of payloads; ``latency`` >= 1.

    Members: ``i`` in, ``o`` out, streams.
    """

    def __init__(self, taken: ShapeLike, given: ShapeLike, latency: int) -> None:
        self._latency = latency
        super().__init__({"i": In(stream.Signature(taken)), "o": Out(stream.Signature(given))})

    @property
    def latency(self) -> int:
        """Cycles from taking an item to offering its result."""
        return self._latency

    def _cycle(self, m: Module) -> Signal:
        """How many cycles ago the item was taken that is under way; 0 while none is.

        It stays at ``latency`` until the result is accepted: what ``o`` offers must stay, too.
        """
        cycle = Signal(range(self._latency + 1))
        moves = Mux(self.o.valid, self.o.ready, self.i.valid | ~self.i.ready)
        m.d.comb += [self.i.ready.eq(cycle == 0), self.o.valid.eq(cycle == self._latency)]
        with m.If(moves):
            m.d.sync += cycle.eq(Mux(self.o.valid, 0, cycle + 1))
        return cycle

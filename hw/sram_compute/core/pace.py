"""The pace at which main memory takes requests of one line, and of several side by side."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.sram_compute.config import QUARTERS


class Pace(wiring.Component):
    """Keeps a memory from taking requests faster than its bandwidth is.

    A request has the memory for ``line_cycles``, or if it is ``wide`` for ``wide_quarters`` of a
    cycle. It is accepted in any cycle in a part of which the memory is free; that the next wide
    one begins with the rest of a cycle is the reason for quarters.

    Members: ``accepts`` in: one is accepted in this cycle, which only may be where it is ``free``,
    out; ``wide`` in.
    """

    def __init__(self, line_cycles: int, wide_quarters: int) -> None:
        self._line_quarters = QUARTERS * line_cycles
        self._wide_quarters = wide_quarters
        super().__init__({"accepts": In(1), "wide": In(1), "free": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        # Quarters for which it is still taken.
        most = max(self._line_quarters, self._wide_quarters + QUARTERS)
        taken = Signal(range(most))
        m.d.comb += self.free.eq(taken < QUARTERS)
        with m.If(self.accepts):
            wide_end = taken + (self._wide_quarters - QUARTERS)
            m.d.sync += taken.eq(Mux(self.wide, wide_end, self._line_quarters - QUARTERS))
        with m.Elif(self.free):
            m.d.sync += taken.eq(0)
        with m.Else():
            m.d.sync += taken.eq(taken - QUARTERS)
        return m

"""Notices runs in which nothing moves any more."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Watchdog(wiring.Component):
    """Finds a run stuck after so many cycles in a row without movement. Latency: 0 cycles.

    Parameters: ``patience``, cycles without movement after which one more is too many.

    Members: ``watch`` in: this cycle counts; one that doesn't starts the wait again; ``moves`` in:
    something moves; ``stuck`` out.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience
        super().__init__({"watch": In(1), "moves": In(1), "stuck": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        still = Signal(range(self._patience + 1))
        m.d.comb += self.stuck.eq(self.watch & (still == self._patience) & ~self.moves)
        with m.If(~self.watch | self.moves):
            m.d.sync += still.eq(0)
        with m.Else():
            m.d.sync += still.eq(still + 1)
        return m

"""Issues instructions: from the start of a run to its ``HALT``, after which results drain."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Issue(wiring.Component):
    """Lets instructions issue in a run, until one is a ``HALT``; what is under way is then written.

    Parameters: ``drain_cycles`` from the issue of a ``HALT`` to the run's end, at least 2.

    Members: ``busy`` in: a run is going on; ``halt`` in: a ``HALT`` issues; ``issue`` out:
    instructions may issue; ``finished`` out: all is written with this cycle.
    """

    def __init__(self, drain_cycles: int) -> None:
        self._drain_cycles = drain_cycles
        super().__init__({"busy": In(1), "halt": In(1), "issue": Out(1), "finished": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        drains = Signal()
        # Of the cycles of draining, the one in which HALT issues is the first.
        left = Signal(range(self._drain_cycles))
        m.d.comb += [
            self.issue.eq(self.busy & ~drains),
            self.finished.eq(self.busy & drains & (left == 0)),
        ]
        with m.If(~self.busy):
            m.d.sync += drains.eq(0)
        with m.Elif(self.halt):
            m.d.sync += drains.eq(1)
        with m.If(drains):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += left.eq(self._drain_cycles - 2)
        return m

"""Controls runs from a host's start to done: whether a run is going on, and how long it takes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.machine.memory_map import NO_LIMIT


class RunControl(wiring.Component):
    """Leads a run from start to done, and counts its cycles.

    A start counts while no run is going on, and not while there is an error. Stop ends a run
    without ``done``; clear also forgets all that the last run left. Clear comes before stop, stop
    before start. A run that has not ended with its ``limit``-th cycle that counts ends with the
    next one.

    Parameters: ``cycle_bits``, the width of ``cycles``; ``limit_bits``, that of ``limit``.

    Members
    -------
    start, stop, clear
        in: pulses from the host.
    error
        in: an earlier fault has not been cleared.
    limit
        in: stays as it is during a run.
    fault, finished
        in: end the run with this cycle, without ``done`` and with it. Fault comes first, then the
        limit.
    works
        in: this cycle of a run counts.
    begin
        out: a start that counts, the cycle before the run's first.
    busy, done, expired
        out: a run is going on; the last one has finished; it came to its limit, until ``clear``.
    cycles
        out: cycles of the last run so far that count.
    """

    def __init__(self, cycle_bits: int = 64, limit_bits: int = NO_LIMIT.bit_length()) -> None:
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                "clear": In(1),
                "error": In(1),
                "limit": In(limit_bits, init=(1 << limit_bits) - 1),
                "fault": In(1),
                "finished": In(1),
                "works": In(1),
                "begin": Out(1),
                "busy": Out(1),
                "done": Out(1),
                "expired": Out(1),
                "cycles": Out(cycle_bits),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        expires = self._add_limit(m)
        m.d.comb += self.begin.eq(self.start & ~self.stop & ~self.clear & ~self.error & ~self.busy)
        with m.If(self.begin):
            m.d.sync += [self.busy.eq(1), self.done.eq(0)]
        with m.If(self.busy):
            with m.If(self.stop | self.fault):
                m.d.sync += self.busy.eq(0)
            with m.Elif(expires):
                m.d.sync += [self.busy.eq(0), self.expired.eq(1)]
            with m.Elif(self.finished):
                m.d.sync += [self.busy.eq(0), self.done.eq(1)]
        with m.If(self.clear):
            m.d.sync += [self.busy.eq(0), self.done.eq(0), self.expired.eq(0)]

        with m.If(self.begin | self.clear):
            m.d.sync += self.cycles.eq(0)
        with m.Elif(self.busy & self.works):
            m.d.sync += self.cycles.eq(self.cycles + 1)
        return m

    def _add_limit(self, m: Module) -> Value:
        """Whether this cycle is one too many."""
        # From -limit up, until the highest bit is set: so nothing is compared.
        left = Signal(len(self.limit) + 1)
        with m.If(self.begin | self.busy & self.works):
            m.d.sync += left.eq(Mux(self.busy, left, ~self.limit) + 1)
        return left[-1] & self.works

"""Start, run, drain, done: the DPU's states and what it counts."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from hw.dpu.isa import COUNTERS


class State(enum.Enum):
    """``DRAIN``: no more instructions issue, but results are still under way."""

    IDLE = 0
    RUN = 1
    DRAIN = 2


class Control(wiring.Component):
    """Leads a run from start to done, and counts its cycles and instructions.

    A start counts in ``IDLE`` only, and not while there is an error. Stop ends a run without
    ``done``; clear also forgets all that the last run left. Clear comes before stop, stop before
    start.

    Parameters: ``drain_cycles`` from the issue of a ``HALT`` to ``done``, at least 2.

    Members
    -------
    start, stop, clear
        in: pulses from the host.
    error
        in: an earlier fault has not been cleared.
    fault
        in: ends the run with this cycle.
    issued
        in: what issues in this cycle, a bit for each of ``isa.COUNTERS``; ``halt``: a ``HALT``.
    begin
        out: a start that counts, the cycle before the run's first.
    issue
        out: instructions may issue. ``busy``: a run is going on. ``done``: the last one has ended
        with a ``HALT``.
    cycles, counters
        out: cycles that the last run was busy; its instructions by ``isa.COUNTERS``.
    """

    def __init__(self, drain_cycles: int) -> None:
        self._drain_cycles = drain_cycles
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                "clear": In(1),
                "error": In(1),
                "fault": In(1),
                "issued": In(data.StructLayout(dict.fromkeys(COUNTERS, 1))),
                "halt": In(1),
                "begin": Out(1),
                "issue": Out(1),
                "busy": Out(1),
                "done": Out(1),
                "cycles": Out(64),
                "counters": Out(data.StructLayout(dict.fromkeys(COUNTERS, 64))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        state = Signal(State)
        # Of the cycles of draining, the one in which HALT issues is the first.
        left = Signal(range(self._drain_cycles))
        m.d.comb += [
            self.begin.eq(
                self.start & ~self.stop & ~self.clear & ~self.error & (state == State.IDLE)
            ),
            self.issue.eq(state == State.RUN),
            self.busy.eq(state != State.IDLE),
        ]
        with m.Switch(state):
            with m.Case(State.IDLE):
                with m.If(self.begin):
                    m.d.sync += [state.eq(State.RUN), self.done.eq(0)]
            with m.Case(State.RUN):
                m.d.sync += left.eq(self._drain_cycles - 2)
                with m.If(self.halt):
                    m.d.sync += state.eq(State.DRAIN)
            with m.Case(State.DRAIN):
                m.d.sync += left.eq(left - 1)
                with m.If(left == 0):
                    m.d.sync += [state.eq(State.IDLE), self.done.eq(1)]
        with m.If(self.busy & (self.stop | self.fault)):
            m.d.sync += [state.eq(State.IDLE), self.done.eq(0)]

        with m.If(self.begin | self.clear):
            m.d.sync += [self.cycles.eq(0), self.counters.eq(0)]
        with m.Else():
            m.d.sync += self.cycles.eq(self.cycles + self.busy)
            for name in COUNTERS:
                m.d.sync += self.counters[name].eq(self.counters[name] + self.issued[name])
        with m.If(self.clear):
            m.d.sync += [state.eq(State.IDLE), self.done.eq(0)]
        return m

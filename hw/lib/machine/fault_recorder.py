"""What has gone wrong, and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.integer.lowest_one import lowest_one, position

Rank = tuple[int, Value, Value | int]
"""A cause; flags, a bit for each place where it is seen; and the detail of place 0."""


class FaultRecorder(wiring.Component):
    """Keeps the faults of a cycle until ``clear``, and names the one that counts.

    Of the ranks that ``ranked`` makes of all that can go wrong in a cycle, the first with a flag
    counts, and of its flags the lowest: its detail is that of place 0 plus its place. Latency: 1
    cycle for the cause, 2 for the detail, which takes long to find and has a register of its own.

    Parameters: ``layout`` of what can go wrong; ``causes``, of which 0 is none; ``ranked``, without
    logic of much depth: all flags go to ``fault`` in the same cycle; ``stages``, registers in front
    of ``fault``: 0 or 1.

    Members: ``watch``: this cycle's faults count, 0 from the next cycle after a ``fault`` until
    ``clear``; ``faults``: a ``layout``; ``clear``: forgets; ``fault``: there is one in this cycle,
    or with a stage in the cycle before; ``cause``, ``detail``: of the last cycle that was watched,
    or with a stage of that in which a fault was seen.
    """

    def __init__(
        self,
        layout: data.StructLayout,
        causes: ShapeLike,
        ranked: Callable[[Any], list[Rank]],
        stages: int = 0,
    ) -> None:
        self._layout = layout
        self._ranked = ranked
        self._stages = stages
        super().__init__(
            {
                "watch": In(1),
                "faults": In(layout),
                "clear": In(1),
                "fault": Out(1),
                "cause": Out(causes),
                "detail": Out(32),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kept = Signal(self._layout)
        seen = kept if self._stages else self.faults
        with m.If(self.clear):
            m.d.sync += kept.eq(0)
        with m.Elif(self.watch & ~self.fault if self._stages else self.watch):
            m.d.sync += kept.eq(self.faults)
        now = [flags for _, flags, _ in self._ranked(seen)]
        m.d.comb += self.fault.eq(self.watch & Cat(now).any())
        detail = Signal.like(self.detail)
        for rank, (cause, flags, base) in reversed(list(enumerate(self._ranked(kept)))):
            lowest = named(m, f"lowest_{rank}", lowest_one(flags))
            with m.If(flags.any()):
                m.d.comb += [self.cause.eq(cause), detail.eq(base + position(lowest))]
        m.d.sync += self.detail.eq(Mux(self.clear, 0, detail))
        return m

"""Hardware loops that run."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import LOOP_DEPTH


class LoopStack(wiring.Component):
    """The innermost loop and the one around it. What its inputs say holds from the next cycle on.

    Members
    -------
    enters, start, last
        in: a loop begins, from instruction ``start`` to ``last``; its ``counts`` and ``count``,
        in, signed, above 0, come then or later, before ``passes``.
    passes
        in: the last instruction of the innermost body is done.
    jumps, target; redirects, redirect_target
        in: goes to a target; loops that have it not in their body end. ``redirects``, which may
        come late in a cycle, goes before all else.
    is_full
        out: no loop may begin.
    runs, innermost_start, innermost_last
        out: there is an innermost loop; its body.
    again
        out: it goes on when ``passes``.
    """

    def __init__(self, pc_bits: int) -> None:
        self._pc_bits = pc_bits
        super().__init__(
            {
                "enters": In(1),
                "start": In(pc_bits),
                "last": In(pc_bits),
                "counts": In(1),
                "count": In(signed(32)),
                "passes": In(1),
                "jumps": In(1),
                "target": In(pc_bits),
                "redirects": In(1),
                "redirect_target": In(pc_bits),
                "is_full": Out(1),
                "runs": Out(1),
                "innermost_start": Out(pc_bits),
                "innermost_last": Out(pc_bits),
                "again": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        loop = data.StructLayout(
            {"start": self._pc_bits, "last": self._pc_bits, "count": 32, "again": 1}
        )
        loops = [Signal(loop, name=f"loop_{place}") for place in range(LOOP_DEPTH)]
        depth = Signal(range(LOOP_DEPTH + 1))
        inner = loops[0]
        m.d.comb += [
            self.is_full.eq(depth == LOOP_DEPTH),
            self.runs.eq(depth != 0),
            self.innermost_start.eq(inner.start),
            self.innermost_last.eq(inner.last),
            self.again.eq(inner.again),
        ]
        # How many loops end, from the innermost on.
        ends = Signal.like(depth)
        by_redirect = self._left(m, "redirect", depth, loops, self.redirect_target)
        by_jump = self._left(m, "jump", depth, loops, self.target)
        with m.If(self.redirects):
            m.d.comb += ends.eq(by_redirect)
        with m.Elif(self.jumps):
            m.d.comb += ends.eq(by_jump)
        with m.Elif(self.passes & ~inner.again):
            m.d.comb += ends.eq(1)

        with m.If(self.enters):
            m.d.sync += depth.eq(depth + 1)
            for around, within in zip(loops[1:], loops, strict=False):
                m.d.sync += around.eq(within)
            m.d.sync += [inner.start.eq(self.start), inner.last.eq(self.last)]
        with m.Else():
            m.d.sync += depth.eq(depth - ends)
            with m.If(ends == 1):
                for around, within in zip(loops[1:], loops, strict=False):
                    m.d.sync += within.eq(around)
        with m.If(self.counts):
            m.d.sync += [inner.count.eq(self.count), inner.again.eq(self.count > 1)]
        with m.Elif(self.passes & inner.again):
            m.d.sync += [inner.count.eq(inner.count - 1), inner.again.eq(inner.count != 2)]
        return m

    def _left(self, m: Module, name: str, depth: Signal, loops: list[Any], target: Value) -> Signal:
        """How many loops do not have ``target`` in their bodies."""
        count = Signal.like(depth, name=f"left_by_{name}")
        m.d.comb += count.eq(depth)
        for place, loop in reversed([*enumerate(loops)]):
            with m.If((depth > place) & (target >= loop.start) & (target <= loop.last)):
                m.d.comb += count.eq(place)
        return count

"""Points to coordinates: pairs as nested coordinates."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.blocks.agreement import agree
from gnarl.hw.sam.blocks.ports import nested_pair
from gnarl.hw.sam.step import TokenStep, is_data, is_done
from gnarl.hw.sam.token import Kind


class PointToCrd(Instanced):
    """Successive points with the same outer coordinate make a fiber of their inner ones.

    The outer coordinates are one fiber. One inner token out a cycle: a new outer coordinate costs
    one for the stop before it, the end one more. No points give the two levels of an empty matrix.
    Source: SAM, coordinate-point converter.

    Parameters: ``width`` of coordinates.

    Members: ``outer``, ``inner`` in, without stops; ``out_outer``, ``out_inner`` out; ``fault``
    out: a stop, or only one of the two is done.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__(nested_pair(width, width))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        outer, inner = self.outer, self.inner
        out_outer, out_inner = self.out_outer, self.out_inner
        step = TokenStep(m, inputs=[outer, inner], outputs=[out_outer, out_inner])
        is_open = Signal()  # a fiber of `at` has points and no stop
        at = Signal(self._width)
        closed_all = Signal()

        ends_fiber = Signal()
        with m.If(outer.valid & inner.valid):
            with m.If(is_data(outer) & is_data(inner)):
                with m.If(is_open & (outer.payload.payload != at)):
                    m.d.comb += ends_fiber.eq(1)
                    step.give(out_inner, Kind.STOP, 0)
                with m.Else():
                    with m.If(~is_open):
                        step.pass_on(out_outer, outer)
                    step.pass_on(out_inner, inner)
                    step.take(outer, inner)
                step.ready()
            with m.Elif(is_done(outer) & is_done(inner) & ~closed_all):
                step.give(out_outer, Kind.STOP, 0)
                step.give(out_inner, Kind.STOP, 1)
                step.ready()
            with m.Elif(agree(outer, inner) & is_done(outer)):
                step.pass_on(out_outer, outer)
                step.pass_on(out_inner, inner)
                step.ready(outer, inner)
            with m.Else():
                m.d.comb += self.fault.eq(1)
        with m.If(step.done):
            m.d.sync += [
                is_open.eq(~ends_fiber),
                at.eq(outer.payload.payload),
                closed_all.eq(is_done(outer)),
            ]
        return m

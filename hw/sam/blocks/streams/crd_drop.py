"""Coordinate drop: removes coordinates whose fibers turned out to be empty."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.lookahead import look_ahead
from gnarl.hw.sam.blocks.agreement import is_closed_by, level_of
from gnarl.hw.sam.blocks.ports import nested_pair
from gnarl.hw.sam.step import TokenStep, is_data, is_done, is_stop


class CrdDrop(Instanced):
    """Passes the outer coordinates whose inner fiber holds data or empty tokens.

    All of the inner stream passes, and so do outer stops. A coordinate goes out with the first
    token of its fiber. Takes as many cycles as there are inner tokens, where the outer ones come
    in time. Source: SAM, coordinate dropper.

    Parameters: ``outer_width``, ``inner_width`` of coordinates; the inner ones may be values, too.

    Members: ``outer``, ``inner`` in; ``out_outer``, ``out_inner`` out; ``fault`` out: the levels of
    the two disagree.
    """

    def __init__(self, outer_width: int, inner_width: int) -> None:
        super().__init__(nested_pair(outer_width, inner_width))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        outer, following = look_ahead(m, self.outer)
        inner = self.inner
        out_outer, out_inner = self.out_outer, self.out_inner
        step = TokenStep(m, inputs=[outer, following, inner], outputs=[out_outer, out_inner])
        passed = Signal()  # the outer coordinate at hand has gone out

        with m.If(outer.valid & inner.valid):
            step.pass_on(out_inner, inner)
            with m.If(is_data(outer) & is_data(inner)):
                with m.If(~passed):
                    step.pass_on(out_outer, outer)
                step.ready(inner)
            with m.Elif(is_data(outer) & is_stop(inner) & (level_of(inner) == 0)):
                step.ready(outer, inner)
            with m.Elif(is_data(outer) & is_stop(inner)):
                with m.If(following.valid & is_closed_by(following, inner)):
                    step.pass_on(out_outer, following)
                    step.ready(outer, following, inner)
                with m.Elif(following.valid):
                    m.d.comb += self.fault.eq(1)
            with m.Elif(is_closed_by(outer, inner) | (is_done(outer) & is_done(inner))):
                step.pass_on(out_outer, outer)
                step.ready(outer, inner)
            with m.Else():
                m.d.comb += self.fault.eq(1)
        with m.If(step.done):
            m.d.sync += passed.eq(is_data(inner))
        return m

"""Coordinate hold: each outer coordinate, once for every inner one."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.lookahead import look_ahead
from gnarl.hw.sam.blocks.agreement import is_closed_by, level_of
from gnarl.hw.sam.blocks.ports import nested_pair
from gnarl.hw.sam.step import TokenStep, is_data, is_done, is_stop
from gnarl.hw.sam.token import Kind


class CrdHold(Instanced):
    """Repeats an outer coordinate for each token of its inner fiber, and passes the inner stream.

    Both outputs have the stops of the inner stream. One inner token a cycle, where the outer ones
    come in time. Source: SAM, coordinate hold.

    Parameters: ``width`` of coordinates.

    Members: ``outer``, ``inner`` in; ``out_outer``, ``out_inner`` out; ``fault`` out: the levels of
    the two disagree.
    """

    def __init__(self, width: int) -> None:
        super().__init__(nested_pair(width, width))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        outer, following = look_ahead(m, self.outer)
        inner = self.inner
        out = self.out_outer
        step = TokenStep(m, inputs=[outer, following, inner], outputs=[out, self.out_inner])

        with m.If(outer.valid & inner.valid):
            step.pass_on(self.out_inner, inner)
            step.take(inner)
            with m.If(is_data(outer) & is_data(inner)):
                step.pass_on(out, outer)
                step.ready()
            with m.Elif(is_data(outer) & is_stop(inner) & (level_of(inner) == 0)):
                step.give(out, Kind.STOP, 0)
                step.ready(outer)
            with m.Elif(is_data(outer) & is_stop(inner)):
                with m.If(following.valid & is_closed_by(following, inner)):
                    step.pass_on(out, inner)
                    step.ready(outer, following)
                with m.Elif(following.valid):
                    m.d.comb += self.fault.eq(1)
            with m.Elif(is_closed_by(outer, inner) | (is_done(outer) & is_done(inner))):
                step.pass_on(out, inner)
                step.ready(outer)
            with m.Else():
                m.d.comb += self.fault.eq(1)
        return m

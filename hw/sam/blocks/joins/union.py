"""Union: the coordinates of two streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.blocks.agreement import agree
from gnarl.hw.sam.blocks.ports import two_lanes
from gnarl.hw.sam.step import TokenStep, is_done, is_stop
from gnarl.hw.sam.token import Kind


class Union(Instanced):
    """Merges the coordinates of two lanes, with both references, and passes stops and done.

    The reference of a lane that lacks the coordinate is empty. Latency: 0 cycles; one token a
    cycle. Source: SAM, unioner.

    Parameters: ``width`` of coordinates; ``ref0_width``, ``ref1_width`` of references, which may be
    values, too.

    Members: ``crd0``, ``ref0``, ``crd1``, ``ref1`` in; ``out_crd``, ``out_ref0``, ``out_ref1`` out;
    ``fault`` out: tokens of the two lanes, or of one lane's two streams, disagree, or a coordinate
    is empty.
    """

    def __init__(self, width: int, ref0_width: int, ref1_width: int) -> None:
        super().__init__(two_lanes(width, ref0_width, ref1_width))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        crd0, ref0, crd1, ref1 = self.crd0, self.ref0, self.crd1, self.ref1
        out_crd, out_ref0, out_ref1 = self.out_crd, self.out_ref0, self.out_ref1
        step = TokenStep(m, inputs=[crd0, ref0, crd1, ref1], outputs=[out_crd, out_ref0, out_ref1])

        is_coordinate0 = crd0.payload.kind == Kind.DATA
        is_coordinate1 = crd1.payload.kind == Kind.DATA
        first0 = is_coordinate0 & (
            is_stop(crd1) | (is_coordinate1 & (crd0.payload.payload < crd1.payload.payload))
        )
        first1 = is_coordinate1 & (
            is_stop(crd0) | (is_coordinate0 & (crd1.payload.payload < crd0.payload.payload))
        )
        same_control = (is_stop(crd0) | is_done(crd0)) & agree(crd0, crd1)
        lanes_agree = agree(crd0, ref0) & agree(crd1, ref1)
        with m.If(crd0.valid & ref0.valid & crd1.valid & ref1.valid):
            with m.If(lanes_agree & first0):
                step.pass_on(out_crd, crd0)
                step.pass_on(out_ref0, ref0)
                step.give(out_ref1, Kind.EMPTY)
                step.ready(crd0, ref0)
            with m.Elif(lanes_agree & first1):
                step.pass_on(out_crd, crd1)
                step.give(out_ref0, Kind.EMPTY)
                step.pass_on(out_ref1, ref1)
                step.ready(crd1, ref1)
            with m.Elif(lanes_agree & ((is_coordinate0 & is_coordinate1) | same_control)):
                step.pass_on(out_crd, crd0)
                step.pass_on(out_ref0, ref0)
                step.pass_on(out_ref1, ref1)
                step.ready(crd0, ref0, crd1, ref1)
            with m.Else():
                m.d.comb += self.fault.eq(1)
        return m

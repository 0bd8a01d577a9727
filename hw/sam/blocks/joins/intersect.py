"""Intersect: the coordinates that two streams share."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.lookahead import look_ahead
from gnarl.hw.sam.blocks.agreement import agree
from gnarl.hw.sam.blocks.ports import FIBER_BITS, skip_hint, two_lanes
from gnarl.hw.sam.step import TokenStep, is_done, is_stop
from gnarl.hw.sam.token import Kind


class Intersect(Instanced):
    """Passes coordinates that both lanes have, with both references, and stops and done.

    The smaller one of two coordinates is dropped, and the larger one along with it where the token
    after the smaller one shows that it has no partner either. So a pair of fibers takes as many
    cycles as the longer one has tokens, where they alternate, and at most as many as both have.

    Every lane's hint tells the other lane's coordinate or stop, which this lane is compared with:
    what is below it is not needed. Fibers are counted by stops taken. Source: SAM, intersecter.

    Parameters: ``width`` of coordinates; ``ref0_width``, ``ref1_width`` of references, which may be
    values, too.

    Members: ``crd0``, ``ref0``, ``crd1``, ``ref1`` in; ``out_crd``, ``out_ref0``, ``out_ref1`` out;
    ``hint0``, ``hint1`` out, for the lookups of ``crd0`` and ``crd1``; ``fault`` out: tokens of the
    two lanes, or of one lane's two streams, disagree, or a coordinate is empty.
    """

    def __init__(self, width: int, ref0_width: int, ref1_width: int) -> None:
        hints = {"hint0": Out(skip_hint(width)), "hint1": Out(skip_hint(width))}
        super().__init__(two_lanes(width, ref0_width, ref1_width) | hints)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        crd0, following0 = look_ahead(m, self.crd0, "lookahead0")
        crd1, following1 = look_ahead(m, self.crd1, "lookahead1")
        ref0, ref1 = self.ref0, self.ref1
        step = TokenStep(
            m,
            inputs=[crd0, ref0, crd1, ref1],
            outputs=[self.out_crd, self.out_ref0, self.out_ref1],
        )

        wanted0, wanted1 = _is_coordinate(crd0), _is_coordinate(crd1)
        below0 = crd0.payload.payload < crd1.payload.payload
        below1 = crd1.payload.payload < crd0.payload.payload
        lanes_agree = agree(crd0, ref0) & agree(crd1, ref1)
        with m.If(crd0.valid & ref0.valid & crd1.valid & ref1.valid):
            with m.If(lanes_agree & wanted0 & wanted1 & (below0 | below1)):
                with m.If(below0 | _is_passed(crd0, following1)):
                    step.take(crd0, ref0)
                with m.If(below1 | _is_passed(crd1, following0)):
                    step.take(crd1, ref1)
                step.ready()
            with m.Elif(lanes_agree & wanted0 & is_stop(crd1)):
                step.ready(crd0, ref0)
            with m.Elif(lanes_agree & is_stop(crd0) & wanted1):
                step.ready(crd1, ref1)
            with m.Elif(lanes_agree & ((wanted0 & wanted1) | _are_same_control(crd0, crd1))):
                step.pass_on(self.out_crd, crd0)
                step.pass_on(self.out_ref0, ref0)
                step.pass_on(self.out_ref1, ref1)
                step.ready(crd0, ref0, crd1, ref1)
            with m.Else():
                m.d.comb += self.fault.eq(1)

        fiber = Signal(FIBER_BITS)
        with m.If(step.done & is_stop(crd0) & is_stop(crd1)):
            m.d.sync += fiber.eq(fiber + 1)
        for hint, other in ((self.hint0, crd1), (self.hint1, crd0)):
            m.d.comb += [
                hint.valid.eq(other.valid & (_is_coordinate(other) | is_stop(other))),
                hint.fiber.eq(fiber),
                hint.stop.eq(is_stop(other)),
                hint.crd.eq(other.payload.payload),
            ]
        return m


def _is_coordinate(crd: Any) -> Value:
    return crd.payload.kind == Kind.DATA


def _is_passed(crd: Any, following: Any) -> Value:
    """No partner for the coordinate ``crd`` comes: ``following`` is next in the other lane."""
    return following.valid & (
        is_stop(following)
        | (_is_coordinate(following) & (following.payload.payload > crd.payload.payload))
    )


def _are_same_control(crd0: Any, crd1: Any) -> Value:
    return (is_stop(crd0) | is_done(crd0)) & agree(crd0, crd1)

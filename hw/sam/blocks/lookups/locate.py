"""Locate: the references of a dense level's coordinates, without walking it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.blocks.agreement import agree
from gnarl.hw.sam.step import TokenStep, is_data
from gnarl.hw.sam.token import Kind, token_stream


class Locate(Instanced):
    """For a coordinate and the reference of its fiber's parent, reference * size + coordinate.

    The parent's reference is repeated for every coordinate; where it is empty, so is what comes
    out. Stops and done pass. Latency: 0 cycles; one token a cycle. Source: FuseFlow, locate.

    Parameters: ``width`` of coordinates and references.

    Members: ``crd``, ``ref`` in; ``size`` in, the same during a run; ``out_ref`` out; ``fault``
    out: the two streams disagree, or a coordinate is beyond the size.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__(
            {
                "crd": In(token_stream(width)),
                "ref": In(token_stream(width)),
                "size": In(width),
                "out_ref": Out(token_stream(width)),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        crd, ref = self.crd, self.ref
        step = TokenStep(m, inputs=[crd, ref], outputs=[self.out_ref])
        both_there = (crd.payload.kind == Kind.DATA) & (ref.payload.kind == Kind.DATA)
        located = Signal(self._width)
        m.d.comb += located.eq(ref.payload.payload * self.size + crd.payload.payload)

        with m.If(crd.valid & ref.valid):
            is_beyond = both_there & (crd.payload.payload >= self.size)
            with m.If(~agree(crd, ref) | is_beyond):
                m.d.comb += self.fault.eq(1)
            with m.Else():
                with m.If(both_there):
                    step.give(self.out_ref, Kind.DATA, located)
                with m.Elif(is_data(crd)):
                    step.give(self.out_ref, Kind.EMPTY)
                with m.Else():
                    step.pass_on(self.out_ref, crd)
                step.ready(crd, ref)
        return m

"""Root: the stream with which every tensor begins."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from gnarl.hw.sam.token import Kind, token_stream


class Root(wiring.Component):
    """Gives reference 0 and done, once, beginning in the first cycle after reset.

    Parameters: ``width`` of references.   Members: ``out_ref`` out.   Source: SAM, root.
    """

    def __init__(self, width: int) -> None:
        super().__init__({"out_ref": Out(token_stream(width))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        out = self.out_ref
        has_given_0, has_given_done = Signal(), Signal()
        with m.If(has_given_0):
            m.d.comb += out.payload.kind.eq(Kind.DONE)
        m.d.comb += [out.valid.eq(~has_given_done), out.payload.payload.eq(0)]
        with m.If(out.valid & out.ready):
            m.d.sync += [has_given_0.eq(1), has_given_done.eq(has_given_0)]
        return m

"""Blocks that break a rule of streams, to see that a proof would notice."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from gnarl.hw.sam.token import Kind

MUTATIONS = {
    "loses": "is_wrong",
    "doubles": "is_wrong",
    "raises": "is_wrong",
    "hurries": "is_wrong",
    "goes_on": "is_wrong",
    "changes": "is_unstable",
    "takes_back": "is_unstable",
    "hangs": "is_stuck",
    "complains": "has_fault",
}
"""What a mutant does to one output, and the output of a ``Harness`` that has to show it."""


class Mutant(wiring.Component):
    """``block``, whose ``output`` loses its first stop, gives it twice, raises its level, gives a
    token right away, or one after done, changes or takes back a token that waits, or keeps done
    for itself; or which calls a stop a fault."""

    def __init__(self, block: wiring.Component, output: str, mutation: str) -> None:
        self._block = block
        self._output = output
        self._mutation = mutation
        super().__init__(block.signature)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.block = block = self._block
        for name, member in self.signature.members.items():
            if not member.is_signature or not isinstance(member.signature, stream.Signature):
                continue
            if member.flow is In:
                wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(block, name))
            elif name != self._output:
                wiring.connect(m, getattr(block, name), wiring.flipped(getattr(self, name)))
        m.d.comb += self.fault.eq(block.fault)
        i, o = getattr(block, self._output), getattr(self, self._output)
        m.d.comb += [o.valid.eq(i.valid), o.payload.eq(i.payload), i.ready.eq(o.ready)]
        is_stop = i.valid & (i.payload.kind == Kind.STOP)
        is_done = i.valid & (i.payload.kind == Kind.DONE)
        happened = Signal()
        waited = Signal()
        m.d.sync += waited.eq(o.valid & ~o.ready)

        match self._mutation:
            case "loses":
                with m.If(is_stop & ~happened):
                    m.d.comb += [o.valid.eq(0), i.ready.eq(1)]
                    m.d.sync += happened.eq(1)
            case "doubles":
                with m.If(is_stop & ~happened):
                    m.d.comb += i.ready.eq(0)
                    m.d.sync += happened.eq(o.ready)
            case "raises":
                with m.If(is_stop):
                    m.d.comb += o.payload.payload.eq(i.payload.payload + 1)
            case "hurries":
                with m.If(~happened):
                    m.d.comb += [o.valid.eq(1), o.payload.kind.eq(Kind.DONE), i.ready.eq(0)]
                    m.d.sync += happened.eq(o.ready)
            case "goes_on":
                with m.If(is_done & o.ready):
                    m.d.sync += happened.eq(1)
                with m.If(happened):
                    m.d.comb += [o.valid.eq(1), o.payload.kind.eq(Kind.DONE)]
            case "changes":
                with m.If(waited):
                    m.d.comb += o.payload.payload.eq(i.payload.payload ^ 1)
            case "takes_back":
                with m.If(waited):
                    m.d.comb += [o.valid.eq(0), i.ready.eq(0)]
            case "hangs":
                with m.If(is_done):
                    m.d.comb += [o.valid.eq(0), i.ready.eq(0)]
            case "complains":
                m.d.comb += self.fault.eq(is_stop)
        return m

"""Instructions that wait for their issue."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.execute.sequencer import issued_layout


class InstructionBuffer(wiring.Component):
    """Room for two instructions, so that fetching need not know in a cycle what issues in it.
    Latency: 1 cycle. Throughput: one a cycle.

    Members: ``i`` in, ``o`` out, streams of ``issued_layout``; ``clear`` in: forgets all, and what
    it is being given; ``steers`` out: an instruction that it holds does; ``advances``, ``coming``
    out: the head is another one from the next cycle on, if there is one.
    """

    def __init__(self, program_words: int) -> None:
        shape = issued_layout(program_words)
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "clear": In(1),
                "steers": Out(1),
                "advances": Out(1),
                "coming": Out(shape),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        head, second = self.o.payload, Signal.like(self.o.payload)
        has_head, has_second = self.o.valid, Signal()
        m.d.comb += [
            self.i.ready.eq(~has_second),
            self.steers.eq((has_head & head.decoded.steers) | (has_second & second.decoded.steers)),
        ]
        m.d.comb += self.advances.eq(self.o.ready | ~has_head)
        with m.If(has_second):
            m.d.comb += self.coming.eq(second)
        with m.Else():
            m.d.comb += self.coming.eq(self.i.payload)
        with m.If(self.advances):
            m.d.sync += head.eq(self.coming)
            m.d.sync += [has_head.eq(has_second | self.i.valid), has_second.eq(0)]
        with m.Elif(~has_second):
            m.d.sync += [second.eq(self.i.payload), has_second.eq(self.i.valid)]
        with m.If(self.clear):
            m.d.sync += [has_head.eq(0), has_second.eq(0)]
        return m

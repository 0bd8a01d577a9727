"""ValSerializer: puts together values, one of each unit that a parallelizer has dealt out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.blocks.agreement import level_of
from gnarl.hw.sam.blocks.streams.turns import Turns
from gnarl.hw.sam.step import TokenStep, is_data, is_done, is_stop
from gnarl.hw.sam.token import Kind, token_stream


class ValSerializer(Instanced):
    """Passes a value for each coordinate, of the lane that this was dealt to, and its stops.

    Lanes have the levels that they were dealt with, as those of values that are reduced from one
    level further in. ``crd`` is the stream that a ``Parallelizer`` deals to them: it says whose
    turn it is, and where a lane has a value for the empty token that this puts in front of a stop,
    which goes. Two lanes: coordinates ``4 7 9 S0 S0 D`` and values ``0 2 S0 D`` and ``1 0 S0 D``
    become ``0 1 2 S0 S0 D``. Latency: 0 cycles; one token a cycle, two for such a stop.

    Parameters: ``crd_width`` and ``width`` of payloads; ``lanes`` >= 2.

    Members: ``crd``, ``i0``, ``i1``, ... in; ``out_val`` out; ``fault`` out: the lane whose turn it
    is does not have what ``crd`` has, or one has tokens left when ``crd`` is done.
    """

    def __init__(self, crd_width: int, width: int, lanes: int) -> None:
        self._lanes = lanes
        stream = token_stream(width)
        super().__init__(
            {"crd": In(token_stream(crd_width))}
            | {f"i{lane}": In(stream) for lane in range(lanes)}
            | {"out_val": Out(stream), "fault": Out(1)}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        crd = self.crd
        inputs = [getattr(self, f"i{lane}") for lane in range(self._lanes)]
        step = TokenStep(m, inputs=[crd, *inputs], outputs=[self.out_val])
        turns = Turns(crd, self._lanes)

        drops = Signal()
        all_done = Cat(i.valid & is_done(i) for i in inputs).all()
        any_left = Cat(i.valid & ~is_done(i) for i in inputs).any()
        with m.If(crd.valid & is_done(crd)):
            with m.If(all_done):
                step.give(self.out_val, Kind.DONE)
                step.ready(crd, *inputs)
            m.d.comb += self.fault.eq(any_left)
        with m.Elif(crd.valid):
            with m.Switch(turns.lane):
                for place, i in enumerate(inputs):
                    is_same = is_stop(crd) & is_stop(i) & (level_of(crd) == level_of(i))
                    with m.Case(place), m.If(i.valid):
                        with m.If((is_data(crd) & is_data(i)) | is_same):
                            step.pass_on(self.out_val, i)
                            step.ready(crd, i)
                        with m.Elif(is_stop(crd) & ~turns.is_open & is_data(i)):
                            m.d.comb += drops.eq(1)
                            step.ready(i)
                        with m.Else():
                            m.d.comb += self.fault.eq(1)
        with m.If(step.done & ~drops):
            turns.advance(m)
        return m

"""Serializer: puts together what a parallelizer has dealt out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.step import TokenStep, is_done, is_stop
from gnarl.hw.sam.token import token_stream


class Serializer(Instanced):
    """Passes a fiber, up to and with its stop, of each lane in turn; done once all lanes are.

    Between it and its ``Parallelizer``, lanes have gone down one level: a fiber for each unit that
    they were dealt, with a stop of the right level. Latency: 0 cycles; one token a cycle. Source:
    FuseFlow, section 7.

    Parameters: ``width`` of payloads; ``lanes`` >= 2.

    Members: ``i0``, ``i1``, ... in; ``o`` out; ``fault`` out: a lane has tokens left when the one
    whose turn it is has not.
    """

    def __init__(self, width: int, lanes: int) -> None:
        self._lanes = lanes
        stream = token_stream(width)
        super().__init__(
            {f"i{lane}": In(stream) for lane in range(lanes)} | {"o": Out(stream), "fault": Out(1)}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        inputs = [getattr(self, f"i{lane}") for lane in range(self._lanes)]
        step = TokenStep(m, inputs=inputs, outputs=[self.o])
        lane = Signal(range(self._lanes))
        stops = Signal()

        all_done = Cat(i.valid & is_done(i) for i in inputs).all()
        any_left = Cat(i.valid & ~is_done(i) for i in inputs).any()
        with m.Switch(lane):
            for place, i in enumerate(inputs):
                with m.Case(place):
                    m.d.comb += stops.eq(is_stop(i))
                    with m.If(i.valid & ~is_done(i)):
                        step.pass_on(self.o, i)
                        step.ready(i)
                    with m.Elif(all_done):
                        step.pass_on(self.o, i)
                        step.ready(*inputs)
                    with m.Elif(i.valid):
                        m.d.comb += self.fault.eq(any_left)
        with m.If(step.done & stops):
            m.d.sync += lane.eq(Mux(lane == self._lanes - 1, 0, lane + 1))
        return m

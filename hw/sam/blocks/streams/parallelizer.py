"""Parallelizer: deals a stream out to several lanes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.blocks.streams.turns import Turns
from gnarl.hw.sam.step import TokenStep, is_data, is_done, is_stop
from gnarl.hw.sam.token import Kind, token_stream


class Parallelizer(Instanced):
    """Deals the units of a stream to its lanes in turn; done goes to all of them.

    A unit is a data or empty token along with the stop behind it, if there is one; a stop that
    follows a stop, or comes first, is a unit of its own. A block that goes down one level makes of
    every unit exactly one fiber, whose stop has the level that it would have without lanes. So a
    ``Serializer`` can put the fibers together again, whatever their lengths. A stop of its own
    that would look like that of the token before it in its lane gets an empty token in front: it
    has nothing in it, one level down. Two lanes: ``0 1 2 S0 S0 3 S1 D`` becomes
    ``0 2 S0 3 S1 D`` and ``1 N S0 D``. Streams with the same stops are dealt alike.

    Latency: 0 cycles; one token a cycle, two for a stop with an empty token in front. Source:
    FuseFlow, section 7. There every lane gets every stop; but then a lane that got no element of a
    fiber looks, one level down, like one that got an element with nothing in it, and stops come
    back wrong.

    Parameters: ``width`` of payloads; ``lanes`` >= 2.

    Members: ``i`` in; ``o0``, ``o1``, ... out.
    """

    def __init__(self, width: int, lanes: int) -> None:
        self._lanes = lanes
        stream = token_stream(width)
        super().__init__({"i": In(stream)} | {f"o{lane}": Out(stream) for lane in range(lanes)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i = self.i
        outputs = [getattr(self, f"o{lane}") for lane in range(self._lanes)]
        step = TokenStep(m, inputs=[i], outputs=outputs)
        turns = Turns(i, self._lanes)
        lane = turns.lane
        open_lanes = Signal(self._lanes)  # those whose last unit has had none yet

        is_ambiguous = is_stop(i) & ~turns.is_open & open_lanes.bit_select(lane, 1)
        with m.If(i.valid):
            for place, output in enumerate(outputs):
                with m.If(is_done(i) | (lane == place)):
                    with m.If(is_ambiguous):
                        step.give(output, Kind.EMPTY)
                    with m.Else():
                        step.pass_on(output, i)
            with m.If(~is_ambiguous):
                step.take(i)
            step.ready()
        with m.If(step.done & is_ambiguous):
            m.d.sync += open_lanes.bit_select(lane, 1).eq(0)
        with m.Elif(step.done):
            m.d.sync += open_lanes.bit_select(lane, 1).eq(is_data(i))
            turns.advance(m)
        return m

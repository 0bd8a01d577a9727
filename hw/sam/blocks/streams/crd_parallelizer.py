"""CrdParallelizer: deals a stream out to lanes by coordinate, and every stop to all of them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.blocks.agreement import agree
from gnarl.hw.sam.step import TokenStep, is_data
from gnarl.hw.sam.token import token_stream


class CrdParallelizer(Instanced):
    """Passes each token to the lane that its coordinate says, modulo their number; stops and done
    to all lanes.

    Each lane has every fiber, with those of its coordinates that are the lane's own, so that sums
    over a fiber are those of the lanes' sums, in an order that depends on coordinates alone. An
    empty coordinate is lane 0's. Coordinates ``4 7 9 S0 S0 D`` with ``0 1 2 S0 S0 D`` become, in
    two lanes, ``0 S0 S0 D`` and ``1 2 S0 S0 D``. Latency: 0 cycles; one token a cycle. Source:
    FuseFlow, section 7, whose lanes have every stop, too.

    Parameters: ``crd_width`` and ``width`` of payloads; ``lanes``, a power of two, >= 2; ``shift``,
    the lowest of the bits of a coordinate that say the lane.

    Members: ``crd``, ``i`` in; ``o0``, ``o1``, ... out; ``fault`` out: the streams disagree.
    """

    def __init__(self, crd_width: int, width: int, lanes: int, shift: int = 0) -> None:
        self._lanes = lanes
        self._shift = shift
        stream = token_stream(width)
        super().__init__(
            {"crd": In(token_stream(crd_width)), "i": In(stream)}
            | {f"o{lane}": Out(stream) for lane in range(lanes)}
            | {"fault": Out(1)}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        crd, i = self.crd, self.i
        outputs = [getattr(self, f"o{lane}") for lane in range(self._lanes)]
        step = TokenStep(m, inputs=[crd, i], outputs=outputs)
        bits = (self._lanes - 1).bit_length()
        lane = crd.payload.payload[self._shift : self._shift + bits]  # that of empty is 0

        with m.If(crd.valid & i.valid):
            with m.If(agree(crd, i)):
                for place, output in enumerate(outputs):
                    with m.If(~is_data(crd) | (lane == place)):
                        step.pass_on(output, i)
                step.ready(crd, i)
            with m.Else():
                m.d.comb += self.fault.eq(1)
        return m

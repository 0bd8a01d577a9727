from __future__ import annotations

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from tests.hw.dpu.simulate import simulate_combinational


class _Encoder(wiring.Component):
    def __init__(self, width: int) -> None:
        super().__init__({"i": In(width), "one": Out(width), "place": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.one.eq(lowest_one(self.i)), self.place.eq(position(self.one))]
        return m


@pytest.mark.parametrize("width", [1, 2, 5, 8, 9])
def test_all_numbers(width):
    encoder = _Encoder(width)

    async def process(ctx):
        for number in range(1 << width):
            ctx.set(encoder.i, number)
            lowest = number & -number
            assert ctx.get(encoder.one) == lowest
            assert ctx.get(encoder.place) == max(0, lowest.bit_length() - 1)

    simulate_combinational(encoder, process)

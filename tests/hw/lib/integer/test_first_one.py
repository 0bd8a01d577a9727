"""The lowest one of a number, and whether it is the only one, by trees."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.integer.first_one import first_one, has_several
from tests.hw.dpu.simulate import simulate_combinational


class _Finder(wiring.Component):
    def __init__(self, width: int) -> None:
        super().__init__({"i": In(width), "one": Out(width), "several": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.one.eq(first_one(m, self.i, "i"))
        m.d.comb += self.several.eq(has_several(m, self.i, "i"))
        return m


def numbers(width: int) -> list[int]:
    """All of few bits; else single bits, pairs of bits, and random ones with low bits clear."""
    if width <= 9:
        return list(range(1 << width))
    ones = [1 << place for place in range(width)]
    draw = random.Random(width)
    dense = [draw.getrandbits(width) << draw.randrange(width) for _ in range(200)]
    pairs = [one | other for one in ones for other in ones]
    return [0, *ones, *pairs, *(number & (1 << width) - 1 for number in dense)]


@pytest.mark.parametrize("width", [1, 2, 4, 5, 8, 9, 17, 32, 64])
def test_numbers(width: int) -> None:
    finder = _Finder(width)

    async def process(ctx: Any) -> None:
        for number in numbers(width):
            ctx.set(finder.i, number)
            assert ctx.get(finder.one) == number & -number
            assert ctx.get(finder.several) == (number.bit_count() > 1)

    simulate_combinational(finder, process)

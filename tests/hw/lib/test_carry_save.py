"""Sums of several numbers."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.carry_save import sum_of
from tests.hw.dpu.simulate import simulate_combinational


class _Sum(wiring.Component):
    def __init__(self, widths: list[int]) -> None:
        self._places = range(len(widths))
        inputs = {f"i{place}": In(width) for place, width in enumerate(widths)}
        super().__init__({**inputs, "o": Out(max(widths))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        values = [getattr(self, f"i{place}") for place in self._places]
        m.d.comb += self.o.eq(sum_of(m, values, "sum"))
        return m


@pytest.mark.parametrize("widths", [[4, 4], [1, 5, 3], [8, 8, 8, 8], [6, 48, 24, 48, 30, 1, 48]])
def test_sums_are_modulo_the_widest(widths: list[int]) -> None:
    adder = _Sum(widths)
    draw = random.Random(0)

    async def process(ctx: Any) -> None:
        cases = [[draw.getrandbits(width) for width in widths] for _ in range(200)]
        for numbers in [[(1 << width) - 1 for width in widths], *cases]:
            for place, number in enumerate(numbers):
                ctx.set(getattr(adder, f"i{place}"), number)
            assert ctx.get(adder.o) == sum(numbers) % (1 << max(widths))

    simulate_combinational(adder, process)

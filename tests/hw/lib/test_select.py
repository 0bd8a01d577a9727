from __future__ import annotations

import re

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.select import at_index
from tests.hw.dpu.simulate import simulate_combinational

VALUES = 8


class _Choice(wiring.Component):
    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__({"i": In(VALUES * width), "index": In(range(VALUES)), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        values = [self.i.word_select(number, self._width) for number in range(VALUES)]
        m.d.comb += self.o.eq(at_index(values, self.index))
        return m


@pytest.mark.parametrize("width", [1, 2, 5])
def test_each_value(width):
    choice = _Choice(width)
    bits = 0x9E3779B97F & ((1 << VALUES * width) - 1)

    async def process(ctx):
        ctx.set(choice.i, bits)
        for index in range(VALUES):
            ctx.set(choice.index, index)
            assert ctx.get(choice.o) == bits >> index * width & ((1 << width) - 1)

    simulate_combinational(choice, process)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("count", [3, 5])
def test_an_index_for_another_number_of_values_is_refused(count, width):
    values = [Signal(width) for _ in range(count)]
    text = f"^{re.escape(f'{count} values for an index of 2 bits')}$"
    with pytest.raises(ValueError, match=text):
        at_index(values, Signal(2))

"""Simulators of equal components: one, each run from its reset on."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.instanced import Instanced
from tests.support.machines.kept_simulators import simulator_of


class Total(Instanced):
    """Adds up what comes, times a factor."""

    def __init__(self, factor: int) -> None:
        self._factor = factor
        super().__init__({"i": In(8), "total": Out(16)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.sync += self.total.eq(self.total + self.i * self._factor)
        return m


def total(factor: int, *numbers: int) -> int:
    simulator = simulator_of(Total(factor))
    found: list[int] = []

    async def bench(ctx: Any) -> None:
        for number in numbers:
            ctx.set(simulator.component.i, number)
            await ctx.tick()
        found.append(ctx.get(simulator.component.total))
        assert numbers, "nothing to add up"

    simulator.run(bench)
    return found[0]


def test_equal_components_have_one_simulator():
    assert simulator_of(Total(3)) is simulator_of(Total(3))
    assert simulator_of(Total(3)) is not simulator_of(Total(4))


def test_each_run_begins_with_a_reset():
    assert [total(5, 1, 2), total(5, 7), total(2, 7), total(5, 1)] == [15, 35, 14, 5]
    with pytest.raises(AssertionError, match="nothing to add up"):
        total(5)
    assert total(5, 1, 1) == 10


def test_what_is_not_defined_by_its_arguments_has_a_simulator_of_its_own():
    class Wire(wiring.Component):
        def __init__(self) -> None:
            super().__init__({"i": In(1), "o": Out(1)})

        def elaborate(self, platform: Any) -> Module:
            m = Module()
            m.d.sync += self.o.eq(self.i)
            return m

    assert simulator_of(Wire()) is not simulator_of(Wire())

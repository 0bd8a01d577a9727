"""Division of whole numbers against Python's."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator

from hw.lib.int_div import IntDiv

Pair = tuple[int, int]


def divide(unit: IntDiv, pairs: list[Pair], pace: float = 1.0) -> tuple[list[Pair], list[int]]:
    """Results, and cycles from operands to each."""
    rng = random.Random(len(pairs))
    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    results: list[Pair] = []
    taken: list[int] = []

    async def give(ctx: Any) -> None:
        for dividend, divisor in pairs:
            ctx.set(unit.i.payload, {"dividend": dividend, "divisor": divisor})
            ctx.set(unit.i.valid, 1)
            await ctx.tick().until(unit.i.ready)
            ctx.set(unit.i.valid, 0)
            ctx.set(unit.i.payload, {"dividend": 1, "divisor": 1})

    async def take(ctx: Any) -> None:
        since = 0
        while len(results) < len(pairs):
            ctx.set(unit.o.ready, rng.random() < pace)
            since = 0 if ctx.get(unit.i.valid & unit.i.ready) else since + 1
            if ctx.get(unit.o.valid & unit.o.ready):
                payload = ctx.get(unit.o.payload)
                results.append((payload.quotient, payload.remainder))
                taken.append(since)
            await ctx.tick()

    simulator.add_testbench(give)
    simulator.add_testbench(take)
    simulator.run()
    return results, taken


def test_all_pairs_of_four_bits():
    pairs = [(a, b) for a in range(16) for b in range(16)]
    unit = IntDiv(4)
    results, cycles = divide(unit, pairs)
    assert results == [divmod(a, b) if b else (15, a) for a, b in pairs]
    assert set(cycles) == {unit.latency} == {5}


@pytest.mark.parametrize("pace", [0.2, 1.0])
def test_words(pace):
    rng = random.Random(3)
    corners = [0, 1, 2, 3, 2**31 - 1, 2**31, 2**32 - 1]
    pairs = [(a, b) for a in corners for b in corners]
    pairs += [(rng.getrandbits(32), rng.getrandbits(rng.randint(1, 32))) for _ in range(40)]
    results, _ = divide(IntDiv(32), pairs, pace)
    assert results == [divmod(a, b) if b else (2**32 - 1, a) for a, b in pairs]


def test_reset_forgets_a_division():
    reset = Signal()
    unit = IntDiv(8)
    simulator = Simulator(ResetInserter(reset)(unit))
    simulator.add_clock(1e-6)

    async def testbench(ctx: Any) -> None:
        ctx.set(unit.i.payload, {"dividend": 200, "divisor": 7})
        ctx.set(unit.i.valid, 1)
        await ctx.tick()
        ctx.set(unit.i.valid, 0)
        await ctx.tick().repeat(3)
        ctx.set(reset, 1)
        await ctx.tick()
        ctx.set(reset, 0)
        for _ in range(20):
            assert ctx.get(unit.i.ready) and not ctx.get(unit.o.valid)
            await ctx.tick()

    simulator.add_testbench(testbench)
    simulator.run()

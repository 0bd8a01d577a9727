"""Masks against the places that their patterns name."""

from __future__ import annotations

import itertools
import random
from typing import Any

from amaranth.sim import Simulator

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sram_compute.pattern import LEVELS, PatternExpander
from gnarl.sw.runtime.machine.verilate import lint

BITS = 32


def mask_of(start: int, strides: list[int], counts: list[int]) -> int:
    places = {
        start + sum(stride * step for stride, step in zip(strides, steps, strict=True))
        for steps in itertools.product(*(range(count + 1) for count in counts))
    }
    return sum(1 << place for place in places if place < BITS)


def test_masks_have_the_places_of_their_patterns():
    """One after the other, with pauses on both sides; what is held stays while it is stalled."""
    chance = random.Random(3)
    patterns: list[tuple[int, list[int], list[int]]] = [
        (0, [0] * LEVELS, [0] * LEVELS),
        (0, [1, 0, 0], [BITS - 1, 0, 0]),
        (1, [2, 0, 0], [15, 0, 0]),
        (5, [1, 8, 0], [2, 3, 0]),
        (2, [1, 4, 16], [1, 1, 1]),
        (0, [0, 8, 0], [0, 3, 0]),
        (3, [2, 2, 2], [0, 12, 0]),
        (1, [BITS - 1, 1, 0], [BITS - 1, 6, 0]),
    ]
    patterns += [
        (
            chance.randrange(BITS),
            [chance.choice([1, 2, 4, 8, chance.randrange(BITS)]) for _ in range(LEVELS)],
            [
                chance.choice([0, 0, 1, 3, chance.randrange(8), chance.randrange(BITS)])
                for _ in range(LEVELS)
            ],
        )
        for _ in range(60)
    ]
    dut = PatternExpander(BITS)
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    cycles: list[int] = []

    async def give(ctx: Any) -> None:
        for start, strides, counts in patterns:
            while chance.random() < 0.3:
                await ctx.tick()
            ctx.set(dut.pattern.payload, {"start": start, "strides": strides, "counts": counts})
            ctx.set(dut.pattern.valid, 1)
            *_, ready = await ctx.tick().sample(dut.pattern.ready)
            while not ready:
                *_, ready = await ctx.tick().sample(dut.pattern.ready)
            ctx.set(dut.pattern.valid, 0)

    async def take(ctx: Any) -> None:
        for start, strides, counts in patterns:
            while not ctx.get(dut.mask.valid):
                await ctx.tick()
            for _ in range(chance.randrange(3)):
                assert ctx.get(dut.mask.payload) == mask_of(start, strides, counts)
                await ctx.tick()
            assert ctx.get(dut.mask.valid)
            assert ctx.get(dut.mask.payload) == mask_of(start, strides, counts)
            ctx.set(dut.mask.ready, 1)
            await ctx.tick()
            ctx.set(dut.mask.ready, 0)
            cycles.append(1)

    simulator.add_testbench(give)
    simulator.add_testbench(take)
    simulator.run()
    assert len(cycles) == len(patterns)


def test_a_bit_of_a_count_takes_a_cycle():
    dut = PatternExpander(BITS)
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.pattern.payload, {"start": 0, "strides": [1, 4, 0], "counts": [3, 7, 0]})
        ctx.set(dut.pattern.valid, 1)
        await ctx.tick()
        ctx.set(dut.pattern.valid, 0)
        await ctx.tick().repeat(4)
        assert not ctx.get(dut.mask.valid)
        await ctx.tick()
        assert ctx.get(dut.mask.valid)
        assert ctx.get(dut.mask.payload) == (1 << BITS) - 1

    simulator.add_testbench(testbench)
    simulator.run()


def test_lint_finds_nothing():
    assert lint(to_verilog(PatternExpander(BITS), "pattern"), "pattern") == []

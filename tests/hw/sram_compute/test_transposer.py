"""Blocks and their transposes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.lib.verilog import to_verilog
from hw.sram_compute.transposer import Transposer
from sw.runtime.verilate import lint

SIZE = 8


def transposed(block: list[int]) -> list[int]:
    return [
        sum((word >> bit & 1) << place for place, word in enumerate(block)) for bit in range(SIZE)
    ]


def run(blocks: list[list[int]], give: float, take: float, seed: int = 0) -> int:
    """Cycles until all have left, with words given and taken at these rates."""
    chance = random.Random(seed)
    dut = Transposer(SIZE)
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    expected = [word for block in blocks for word in transposed(block)]
    found: list[int] = []
    cycles = 0

    async def testbench(ctx: Any) -> None:
        nonlocal cycles
        words = [word for block in blocks for word in block]
        stalled: int | None = None
        while len(found) < len(expected):
            if words and not ctx.get(dut.i.valid) and chance.random() < give:
                ctx.set(dut.i.payload, words[0])
                ctx.set(dut.i.valid, 1)
            ctx.set(dut.o.ready, chance.random() < take)
            if ctx.get(dut.o.valid):
                word = ctx.get(dut.o.payload)
                assert stalled in (None, word)
                stalled = None if ctx.get(dut.o.ready) else word
                if stalled is None:
                    found.append(word)
            taken = ctx.get(dut.i.valid) and ctx.get(dut.i.ready)
            await ctx.tick()
            cycles += 1
            if taken:
                words.pop(0)
                ctx.set(dut.i.valid, bool(words) and give == 1)
                ctx.set(dut.i.payload, words[0] if words else 0)
        assert found == expected
        assert ctx.get(dut.is_empty)

    simulator.add_testbench(testbench)
    simulator.run()
    return cycles


def random_blocks(count: int, seed: int) -> list[list[int]]:
    chance = random.Random(seed)
    return [[chance.getrandbits(SIZE) for _ in range(SIZE)] for _ in range(count)]


def test_one_block():
    assert run([[1, 0, 0, 0, 0, 0, 0, 255]], 1, 1) == 2 * SIZE


def test_a_word_a_cycle():
    assert run(random_blocks(10, 1), 1, 1) == 11 * SIZE


@pytest.mark.parametrize("give, take", [(0.3, 0.9), (0.9, 0.3), (0.6, 0.6)])
def test_whatever_the_pace(give, take):
    run(random_blocks(30, 2), give, take, seed=5)


def test_lint_finds_nothing():
    assert lint(to_verilog(Transposer(SIZE), "transposer"), "transposer") == []

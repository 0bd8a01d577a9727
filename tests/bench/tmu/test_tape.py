"""The tape against a list."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from bench.tmu_parts.tape import Tape

ITEMS = 64


@pytest.mark.parametrize("lanes", [1, 4])
def test_what_was_recorded_is_played(lanes: int):
    """Twice; what is recorded behind an erasure, alone."""
    tape = Tape(ITEMS, lanes, 16)
    rng = random.Random(lanes)

    async def record(ctx: Any, count: int) -> list[int]:
        recorded: list[int] = []
        while len(recorded) < count:
            items = [rng.getrandbits(16) for _ in range(rng.choice([1, lanes]))]
            ctx.set(tape.put_vector, len(items) > 1)
            for place, item in enumerate(items):
                ctx.set(tape.put_data[place], item)
            ctx.set(tape.put, rng.random() < 0.7)
            recorded += items * ctx.get(tape.put)
            await ctx.tick()
        ctx.set(tape.put, 0)
        return recorded

    async def played(ctx: Any) -> list[int]:
        ctx.set(tape.rewind, 1)
        await ctx.tick()
        ctx.set(tape.rewind, 0)
        found = []
        for _ in range(4 * ITEMS):
            ctx.set(tape.played.ready, rng.random() < 0.7)
            if ctx.get(tape.played.valid & tape.played.ready):
                found += [ctx.get(tape.played.payload[lane]) for lane in range(lanes)]
            await ctx.tick()
        return found

    async def testbench(ctx: Any) -> None:
        for count in (ITEMS - lanes + 1, ITEMS // 2):
            ctx.set(tape.erase, 1)
            await ctx.tick()
            ctx.set(tape.erase, 0)
            expected = await record(ctx, count)
            for _ in range(2):
                found = await played(ctx)
                assert found[: len(expected)] == expected
                assert len(found) - len(expected) < lanes

    simulator = Simulator(tape)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def test_a_row_is_played_a_cycle():
    tape = Tape(ITEMS, 4, 16)

    async def testbench(ctx: Any) -> None:
        ctx.set(tape.put, 1)
        ctx.set(tape.put_vector, 1)
        ctx.set(tape.rewind, 1)
        await ctx.tick().repeat(8)
        ctx.set(tape.put, 0)
        ctx.set(tape.rewind, 0)
        ctx.set(tape.played.ready, 1)
        await ctx.tick()
        for _ in range(8):
            assert ctx.get(tape.played.valid)
            await ctx.tick()
        assert not ctx.get(tape.played.valid)

    simulator = Simulator(tape)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()

"""The data queue against a list."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from gnarl.hw.tmu.queues.data_queue import DataQueue

LANES = 4


def drive(testbench: Any, words: int = 16) -> None:
    queue = DataQueue(words, LANES)
    simulator = Simulator(queue)
    simulator.add_clock(1e-6)

    async def process(ctx: Any) -> None:
        await testbench(ctx, queue)

    simulator.add_testbench(process)
    simulator.run()


def put(ctx: Any, queue: DataQueue, words: list[int]) -> None:
    ctx.set(queue.put, bool(words))
    ctx.set(queue.put_vector, len(words) == LANES)
    for place, word in enumerate(words):
        ctx.set(queue.put_data[place], word)


@pytest.mark.parametrize("seed, rows", [(0, 4), (1, 4), (2, 4), (3, 2), (4, 2)])
@pytest.mark.parametrize("pace", [0.3, 0.9])
def test_words_come_in_order(seed, rows, pace):
    """Words and vectors, put and taken at random, with the room that is left known exactly."""
    random_numbers = random.Random(seed)

    async def testbench(ctx: Any, queue: DataQueue) -> None:
        expected: list[int] = []
        taken: list[int] = []
        for _ in range(1500):
            assert ctx.get(queue.room) == rows * LANES - len(expected) + len(taken)
            length = random_numbers.choice([0, 1, LANES])
            has_room = ctx.get(queue.room) >= length and random_numbers.random() < pace
            words = [random_numbers.getrandbits(32) for _ in range(length)] if has_room else []
            put(ctx, queue, words)
            expected += words
            wanted = random_numbers.choice([1, LANES])
            ctx.set(queue.take_vector, wanted == LANES)
            ctx.set(queue.take, random_numbers.random() < pace)
            if ctx.get(queue.take) and ctx.get(queue.valid):
                taken += [ctx.get(queue.words[place]) for place in range(wanted)]
            await ctx.tick()
        assert taken == expected[: len(taken)]
        assert len(taken) > 300

    drive(testbench, rows * LANES)


@pytest.mark.parametrize("before, cycles", [(0, 1), (1, 2), (3, 2)])
def test_vectors_in_two_rows_take_a_second_cycle(before, cycles):
    async def testbench(ctx: Any, queue: DataQueue) -> None:
        for words in ([7] for _ in range(before)):
            put(ctx, queue, words)
            await ctx.tick()
        for _ in range(3):
            put(ctx, queue, [1, 2, 3, 4])
            await ctx.tick()
        put(ctx, queue, [])
        await ctx.tick().repeat(2)
        ctx.set(queue.take, 1)
        for _ in range(before):
            assert ctx.get(queue.words[0]) == 7
            await ctx.tick()
        ctx.set(queue.take_vector, 1)
        for _ in range(3):
            for _ in range(cycles - 1):
                assert not ctx.get(queue.valid)
                await ctx.tick()
            assert ctx.get(queue.valid)
            assert [ctx.get(queue.words[place]) for place in range(LANES)] == [1, 2, 3, 4]
            await ctx.tick()
        assert not ctx.get(queue.valid)

    drive(testbench)


def test_a_vector_in_two_rows_that_comes_late_takes_a_second_cycle():
    """However long its taker has waited for it."""

    async def testbench(ctx: Any, queue: DataQueue) -> None:
        put(ctx, queue, [7])
        await ctx.tick()
        put(ctx, queue, [])
        ctx.set(queue.take, 1)
        await ctx.tick().until(queue.valid)
        ctx.set(queue.take_vector, 1)
        await ctx.tick().repeat(3)
        put(ctx, queue, [1, 2, 3, 4])
        await ctx.tick()
        put(ctx, queue, [])
        for _ in range(2):
            assert not ctx.get(queue.valid)
            await ctx.tick()
        assert ctx.get(queue.valid)

    drive(testbench)


def test_a_vector_waits_for_its_taker():
    async def testbench(ctx: Any, queue: DataQueue) -> None:
        for words in ([7], [1, 2, 3, 4]):
            put(ctx, queue, words)
            await ctx.tick()
        put(ctx, queue, [])
        await ctx.tick().repeat(2)
        ctx.set(queue.take, 1)
        await ctx.tick()
        ctx.set(queue.take, 0)
        ctx.set(queue.take_vector, 1)
        await ctx.tick()
        for _ in range(3):
            assert ctx.get(queue.valid)
            await ctx.tick()

    drive(testbench)


def test_latency_is_two_cycles():
    async def testbench(ctx: Any, queue: DataQueue) -> None:
        put(ctx, queue, [5])
        await ctx.tick()
        put(ctx, queue, [])
        assert not ctx.get(queue.valid)
        await ctx.tick()
        assert ctx.get(queue.valid)

    drive(testbench)

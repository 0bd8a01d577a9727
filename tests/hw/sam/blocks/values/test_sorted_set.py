from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from gnarl.hw.sam.blocks.values.sorted_set import LEAST_SIZE, SortedSet


async def fill(ctx: Any, numbers: SortedSet, inserted: list[int]) -> list[bool]:
    """Inserts a number a cycle; what the set says of each."""
    found = []
    for place, number in enumerate([*inserted, None]):
        ctx.set(numbers.insert_valid, number is not None)
        ctx.set(numbers.insert, number or 0)
        if place:
            found.append(bool(ctx.get(numbers.found)))
        await ctx.tick()
    return found


async def empty(ctx: Any, numbers: SortedSet, pause: Any) -> tuple[list[int], int]:
    """Takes what is in the set; how many cycles that took, from ``drain`` to the last."""
    ctx.set(numbers.drain, 1)
    taken: list[int] = []
    cycle = 0
    while True:
        ctx.set(numbers.numbers.ready, not pause())
        if ctx.get(numbers.numbers.valid & numbers.numbers.ready):
            taken.append(ctx.get(numbers.numbers.payload.number))
            if ctx.get(numbers.numbers.payload.last):
                break
        cycle += 1
        assert cycle < 10_000
        await ctx.tick()
    await ctx.tick()
    ctx.set(numbers.drain, 0)
    return taken, cycle + 1


def simulate(
    numbers: SortedSet, sets: list[list[int]], pauses: float
) -> list[tuple[list[int], int]]:
    """Puts sets in and takes them out, one after the other; checks ``found``."""
    chance = random.Random(1)
    results = []

    async def bench(ctx: Any) -> None:
        for inserted in sets:
            before = [number in inserted[:place] for place, number in enumerate(inserted)]
            assert await fill(ctx, numbers, inserted) == before
            results.append(await empty(ctx, numbers, lambda: chance.random() < pauses))

    simulator = Simulator(numbers)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return results


SIZES = [LEAST_SIZE, 1 << 10, 1 << 13, 1 << 17]


def test_the_least_size_is_the_greatest_of_two_levels():
    assert [SortedSet.latency(size) for size in (LEAST_SIZE, 64 * LEAST_SIZE // 2)] == [1, 1]
    assert SortedSet.latency(64 * LEAST_SIZE) == 2


@pytest.mark.parametrize("pauses", [0.0, 0.5])
@pytest.mark.parametrize("size", SIZES)
def test_numbers_come_out_once_and_in_order(size, pauses):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    near = [chance.randrange(size) for _ in range(8)]
    sets = [
        [0],
        [size - 1, 0, size - 1],
        chance.choices(range(size), k=60),
        [(chance.choice(near) + chance.randrange(3)) % size for _ in range(100)],
        near[:2],
        list(range(100)),
    ]
    taken = [numbers for numbers, _ in simulate(SortedSet(size), sets, pauses)]
    assert taken == [sorted(set(inserted)) for inserted in sets]


@pytest.mark.parametrize("size", SIZES)
def test_a_number_a_cycle_whatever_lies_between(size):
    inserted = sorted({place * size // 50 for place in range(50)})
    [(taken, cycles)] = simulate(SortedSet(size), [inserted], 0.0)
    assert taken == inserted
    assert cycles == SortedSet.latency(size) + len(inserted)

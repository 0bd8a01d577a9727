from __future__ import annotations

import random

from amaranth.sim import Simulator

from gnarl.hw.lib.arbiter import RoundRobin


def grants(requests: list[int], width: int) -> list[int]:
    """The grants of cycle after cycle."""
    arbiter = RoundRobin(width)
    found = []

    async def bench(ctx):
        for request in requests:
            ctx.set(arbiter.requests, request)
            found.append(ctx.get(arbiter.grant))
            await ctx.tick()

    simulator = Simulator(arbiter)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def test_all_take_turns():
    assert grants([0b1111] * 6, 4) == [1, 2, 4, 8, 1, 2]
    assert grants([0b1010] * 3, 4) == [2, 8, 2]


def test_the_next_one_after_the_last_comes_first():
    assert grants([0b0100, 0b0000, 0b1011, 0b0011, 0b0001, 0b0000], 4) == [4, 0, 8, 1, 1, 0]


def test_one_that_stays_waits_for_one_turn_of_each_other():
    noise = random.Random(5)
    requests = [noise.getrandbits(7) | 1 for _ in range(300)]
    waits = 0
    for request, grant in zip(requests, grants(requests, 7), strict=True):
        assert grant & request and grant & (grant - 1) == 0
        waits = 0 if grant == 1 else waits + 1
        assert waits < 7

from __future__ import annotations

import random

import pytest
from amaranth.sim import Simulator

from gnarl.hw.lib.stream.fork import Fork
from gnarl.hw.sam.token import token_layout
from tests.support.sam.tokens import pack, unpack


def run(fork: Fork, tokens: list[int], stalls: list[float], cycles: int) -> list[list[int]]:
    """What each reader has taken after so many cycles; readers pause in a share of cycles."""
    noise = random.Random(3)
    taken: list[list[int]] = [[] for _ in stalls]

    async def bench(ctx):
        left = list(tokens)
        outputs = [getattr(fork, f"o{reader}") for reader in range(len(stalls))]
        for _ in range(cycles):
            ctx.set(fork.i.valid, bool(left))
            if left:
                ctx.set(fork.i.payload.as_value(), pack(left[0], 8))
            for output, share in zip(outputs, stalls, strict=True):
                ctx.set(output.ready, noise.random() >= share)
            for output, got in zip(outputs, taken, strict=True):
                if ctx.get(output.valid) and ctx.get(output.ready):
                    got.append(unpack(ctx.get(output.payload.as_value()), 8))
            if left and ctx.get(fork.i.ready):
                del left[0]
            await ctx.tick()

    simulator = Simulator(fork)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return taken


@pytest.mark.parametrize("stalls", [[0.5, 0.5], [0.0, 0.7, 0.2], [0.9, 0.1, 0.5, 0.5]])
def test_every_reader_gets_every_token_once_and_in_order(stalls):
    tokens = list(range(50))
    assert run(Fork(token_layout(8), len(stalls)), tokens, stalls, 2000) == [tokens] * len(stalls)


def test_a_token_a_cycle():
    assert run(Fork(token_layout(8), 3), list(range(20)), [0.0] * 3, 20) == [list(range(20))] * 3


def test_a_reader_that_waits_holds_up_the_next_token_only():
    assert run(Fork(token_layout(8), 3), [7, 8, 9], [0.0, 1.0, 0.0], 10) == [[7], [], [7]]

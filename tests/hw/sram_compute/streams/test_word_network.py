"""Words between engines and banks: what is read, what is written, and when."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from gnarl.hw.sram_compute.streams.word_network import OPERAND_CYCLES, WordNetwork, word_cycles

BANKS, ARRAYS, WORDLINES, BITLINES = 4, 1, 64, 64
WORDS = WORDLINES * BITLINES // 32
STEPS = 60

Want = tuple[int, int, int]
"""Bank, word in it, and data."""


def wants(chance: random.Random) -> list[Want | None]:
    """Few words, so that engines want the same ones."""
    return [
        (chance.randrange(BANKS), chance.randrange(3), chance.getrandbits(32))
        if chance.random() < 0.8
        else None
        for _ in range(BANKS)
    ]


def expected(
    memory: np.ndarray, wanted: list[Want | None], stores: bool, bits: int
) -> tuple[dict[int, int], int, int]:
    """Words that engines read, cycles of the step, words between banks; ``memory`` is written."""
    left = {engine: each for engine, each in enumerate(wanted) if each is not None}
    read, cycles, crossed = {}, 0, 0
    while left:
        served: set[int] = set()
        for bank in range(BANKS):
            asking = [engine for engine, each in left.items() if each[0] == bank]
            if not asking:
                continue
            chosen = bank if bank in asking else min(asking)
            word = left[chosen][1]
            if stores:
                memory[bank, word] = left[chosen][2]
                served.add(chosen)
            else:
                same = [engine for engine in asking if left[engine][1] == word]
                read |= {engine: int(memory[bank, word]) for engine in same}
                served |= {*same}
        crossing = sum(left[engine][0] != engine for engine in served)
        crossed += crossing
        cycles += word_cycles(bits) if crossing else 1
        left = {engine: each for engine, each in left.items() if engine not in served}
    return read, max(1, cycles), crossed


@pytest.mark.parametrize("bits", [1, 8, 32, 64])
@pytest.mark.parametrize("is_shared", [False, True])
def test_steps_take_rounds(bits: int, is_shared: bool):
    """``is_shared``: banks are taken at random, and words come late; then engines wait, and do
    nothing else otherwise."""
    chance = random.Random(bits)
    network = WordNetwork(BANKS, ARRAYS, WORDLINES, BITLINES, bits)
    memory = np.array([[chance.getrandbits(32) for _ in range(WORDS)] for _ in range(BANKS)])
    held = memory.copy()

    async def banks(ctx: Any) -> None:
        """Answer in the next cycle."""
        requests = [getattr(network, f"request{bank}") for bank in range(BANKS)]
        signals = (network.accesses, network.is_taken, network.waits, *requests)
        async for _, _, accesses, taken, waits, *found in ctx.tick().sample(*signals):
            assert not accesses & taken and not (waits and accesses)
            for bank, request in enumerate(found):
                if not accesses >> bank & 1:
                    continue
                word = request.row * (BITLINES // 32) + request.group
                if request.write:
                    held[bank, word] = request.data
                else:
                    ctx.set(getattr(network, f"response{bank}"), int(held[bank, word]))

    async def steps(ctx: Any) -> None:
        for _ in range(STEPS):
            stores, wanted = chance.random() < 0.4, wants(chance)
            read, cycles, crossed = expected(memory, wanted, stores, bits)
            for engine, each in enumerate(wanted):
                access = getattr(network, f"access{engine}")
                bank, word, data = each or (0, 0, 0)
                place = {"bank": bank, "array": 0}
                place |= {"row": word // (BITLINES // 32), "group": word % (BITLINES // 32)}
                is_written = stores if each else chance.random() < 0.5
                write = (1 << 32) - 1 if is_written else 0
                value = {"enable": each is not None, "place": place, "write": write, "data": data}
                ctx.set(access, value)
            ctx.set(network.enable, 1)
            spent = sent = waited = 0
            done = False
            late = chance.choice((0, 0, 3)) if is_shared else 0
            while not done:
                ctx.set(network.is_early, spent < late)
                ctx.set(network.is_taken, chance.getrandbits(BANKS) if is_shared else 0)
                done = bool(ctx.get(network.done))
                waited += ctx.get(network.waits)
                sent += ctx.get(network.words_between_banks)
                await ctx.tick()
                spent += 1
            assert (spent - waited, sent) == (cycles, crossed)
            assert waited >= late or not any(wanted)
            if not stores:
                ctx.set(network.enable, 0)
                for _ in range(OPERAND_CYCLES - 1):
                    await ctx.tick()
                for engine, value in read.items():
                    assert ctx.get(getattr(network, f"operand{engine}")) == value
        await ctx.tick().repeat(2)
        assert np.array_equal(held, memory)

    simulator = Simulator(network)
    simulator.add_clock(1e-6)
    simulator.add_testbench(steps)
    simulator.add_testbench(banks, background=True)
    simulator.run()

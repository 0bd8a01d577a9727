from __future__ import annotations

import random
from typing import Any

import pytest

from gnarl.hw.sam.memory.local_memory import LocalArrays
from tests.hw.sam.arrays import (
    ARRAYS,
    COORDINATES,
    SEGMENTS,
    finish,
    host_read,
    load,
    run,
    simulate,
)

LATENCIES = pytest.mark.parametrize("latency", [1, 2])


@LATENCIES
def test_an_answer_a_cycle_so_many_cycles_after_its_request(latency):
    async def bench(ctx: Any, memory: Any) -> None:
        await load(ctx, memory)
        rows = {"seg": [3, 1, 4, 1, 5, 9, 2, 6], "crd": [23, 0, 11, 7]}
        answers, times, _ = await run(ctx, memory, rows, [])
        assert answers["seg"] == [SEGMENTS[row] for row in rows["seg"]]
        assert answers["crd"] == [COORDINATES[row] for row in rows["crd"]]
        first = [latency + place for place in range(8)]
        assert times == {"seg": first, "crd": first[:4]}

    simulate(LocalArrays(ARRAYS, 8, latency), bench)


@LATENCIES
@pytest.mark.parametrize("seed", range(3))
def test_stalls_lose_nothing(seed, latency):
    noise = random.Random(seed)

    async def bench(ctx: Any, memory: Any) -> None:
        await load(ctx, memory)
        reads = {
            "seg": [noise.randrange(20) for _ in range(60)],
            "crd": [noise.randrange(24) for _ in range(60)],
        }
        writes = [(row, noise.randrange(256)) for row in range(24)]
        answers, _, _ = await run(ctx, memory, reads, writes, stalls=0.4, seed=seed)
        assert answers["seg"] == [SEGMENTS[row] for row in reads["seg"]]
        assert answers["crd"] == [COORDINATES[row] for row in reads["crd"]]
        await finish(ctx, memory)
        assert await host_read(ctx, memory, "out", 24, 1) == [[word] for _, word in writes]
        assert await host_read(ctx, memory, "seg", 20, 2) == SEGMENTS

    simulate(LocalArrays(ARRAYS, 8, latency), bench)


@LATENCIES
def test_a_reset_forgets_answers(latency):
    async def bench(ctx: Any, memory: Any) -> None:
        await load(ctx, memory)
        port = memory.ports.crd
        ctx.set(port.address.valid, 1)
        await ctx.tick().repeat(6)
        assert ctx.get(port.data.valid) and not ctx.get(port.address.ready)
        ctx.set(port.address.valid, 0)
        await finish(ctx, memory)
        assert not ctx.get(port.data.valid) and ctx.get(port.address.ready)
        assert await host_read(ctx, memory, "crd", 24, 1) == COORDINATES

    simulate(LocalArrays(ARRAYS, 8, latency), bench)

from __future__ import annotations

import random
from typing import Any

import pytest

from gnarl.hw.sam.memory.placement import allocations
from gnarl.hw.sam.memory.shared_memory import SharedArrays
from tests.hw.sam.arrays import (
    ARRAYS,
    COORDINATES,
    SEGMENTS,
    finish,
    host_read,
    host_write,
    load,
    run,
    simulate,
)


def test_arrays_of_two_words_come_first():
    found, wide_rows = allocations([ARRAYS[1], ARRAYS[2], ARRAYS[0]])
    assert [(place.window.name, place.base) for place in found] == [
        ("seg", 0),
        ("crd", 20),
        ("out", 44),
    ]
    assert wide_rows == 20


@pytest.mark.parametrize("latency", [1, 2, 3, 9])
def test_an_answer_a_cycle_after_the_latency(latency):
    async def bench(ctx: Any, memory: Any) -> None:
        await load(ctx, memory)
        rows = [3, 1, 4, 1, 5, 9, 2, 6]
        answers, times, _ = await run(ctx, memory, {"seg": rows}, [])
        assert answers["seg"] == [SEGMENTS[row] for row in rows]
        assert times["seg"] == list(range(latency, latency + 8))

    simulate(SharedArrays(ARRAYS, 8, banks=2, latency=latency, in_flight=16), bench)


def test_ports_share_a_bank_and_have_banks_of_their_own():
    # Row 0 of seg and row 0 of crd lie in rows 0 and 20 of the memory.
    async def bench(ctx: Any, memory: Any) -> None:
        await load(ctx, memory)
        _, _, same_bank = await run(ctx, memory, {"seg": [0] * 12, "crd": [2] * 12}, [])
        _, _, others = await run(ctx, memory, {"seg": [0] * 12, "crd": [1] * 12}, [])
        assert (same_bank, others) == (25, 13)

    simulate(SharedArrays(ARRAYS, 8, banks=2, latency=1, in_flight=4), bench)


def test_requests_wait_while_too_many_are_in_flight():
    async def bench(ctx: Any, memory: Any) -> None:
        await load(ctx, memory)
        _, times, _ = await run(ctx, memory, {"crd": list(range(8))}, [])
        # Two at a time; a place is free in the cycle after an answer is taken.
        assert times["crd"] == [4, 5, 9, 10, 14, 15, 19, 20]

    simulate(SharedArrays(ARRAYS, 8, banks=4, latency=4, in_flight=2), bench)


@pytest.mark.parametrize("banks, latency, in_flight", [(1, 1, 1), (2, 2, 3), (8, 7, 5), (4, 1, 8)])
def test_stalls_lose_nothing(banks, latency, in_flight):
    noise = random.Random(banks)

    async def bench(ctx: Any, memory: Any) -> None:
        await load(ctx, memory)
        reads = {
            "seg": [noise.randrange(20) for _ in range(40)],
            "crd": [noise.randrange(24) for _ in range(40)],
        }
        writes = [(row, noise.randrange(256)) for row in range(24)]
        answers, _, _ = await run(ctx, memory, reads, writes, stalls=0.3, seed=banks)
        assert answers["seg"] == [SEGMENTS[row] for row in reads["seg"]]
        assert answers["crd"] == [COORDINATES[row] for row in reads["crd"]]
        await finish(ctx, memory)
        assert await host_read(ctx, memory, "out", 24, 1) == [[word] for _, word in writes]
        assert await host_read(ctx, memory, "seg", 20, 2) == SEGMENTS
        assert await host_read(ctx, memory, "crd", 24, 1) == COORDINATES

    simulate(SharedArrays(ARRAYS, 8, banks, latency, in_flight), bench)


def test_a_reset_forgets_requests_under_way():
    async def bench(ctx: Any, memory: Any) -> None:
        await load(ctx, memory)
        port = memory.ports.crd
        for cycles in range(1, 9):
            ctx.set(memory.busy, 1)
            ctx.set(port.address.valid, 1)
            ctx.set(port.data.ready, 0)
            await ctx.tick().repeat(cycles)
            ctx.set(port.address.valid, 0)
            await finish(ctx, memory)
            ctx.set(memory.busy, 1)
            answers, times, _ = await run(ctx, memory, {"crd": [5, 6]}, [])
            assert answers["crd"] == [COORDINATES[5], COORDINATES[6]]
            assert times["crd"] == [5, 6]

    simulate(SharedArrays(ARRAYS, 8, banks=2, latency=5, in_flight=3), bench)


def test_no_array_lies_over_another():
    contents = {
        name: [[(row * 9 + place) % 256] * words for row in range(20)]
        for place, (name, words) in enumerate([("out", 1), ("crd", 1), ("seg", 2)])
    }

    async def bench(ctx: Any, memory: Any) -> None:
        for name, rows in contents.items():
            await host_write(ctx, memory, name, rows)
        for name, rows in contents.items():
            assert await host_read(ctx, memory, name, len(rows), len(rows[0])) == rows

    simulate(SharedArrays(ARRAYS, 8, banks=4, latency=1, in_flight=1), bench)

from __future__ import annotations

import random
from typing import Any

import pytest

from gnarl.hw.sam.memory.placement import MemoryRows, in_turn
from gnarl.hw.sam.memory.shared_memory import SharedArrays
from tests.hw.sam.arrays import (
    ARRAYS,
    COORDINATES,
    PLACES,
    SEGMENTS,
    finish,
    host_read,
    host_write,
    load,
    place,
    run,
    simulate,
)


def test_arrays_of_two_words_come_first():
    windows = [ARRAYS[at][0] for at in (1, 2, 0)]
    assert in_turn(windows) == [2, 0, 1]
    assert MemoryRows.of(windows) == MemoryRows(20, 48)


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


def test_what_one_run_has_written_the_next_one_reads():
    async def bench(ctx: Any, memory: Any) -> None:
        await load(ctx, memory)
        words = [(row, 7 * row + 1) for row in range(24)]
        await run(ctx, memory, {"seg": [], "crd": []}, words)
        await finish(ctx, memory)
        seg, _, out = PLACES
        place(ctx, memory, [seg, out, (20, 24)])
        ctx.set(memory.busy, 1)
        rows = [5, 23, 0, 7]
        answers, _, _ = await run(ctx, memory, {"seg": [3], "crd": rows}, [(2, 99)])
        assert answers["crd"] == [[7 * row + 1] for row in rows]
        await finish(ctx, memory)
        assert await host_read(ctx, memory, "crd", 3, 1) == [[200], [199], [99]]

    simulate(SharedArrays(ARRAYS, 8, banks=2, latency=2, in_flight=3), bench)


@pytest.mark.parametrize("name", ["seg", "crd", "out"])
def test_a_row_beyond_a_place_is_a_fault(name):
    number = [window.name for window, _ in ARRAYS].index(name)

    async def bench(ctx: Any, memory: Any) -> None:
        await load(ctx, memory)
        places = list(PLACES)
        places[number] = places[number][0], 5
        place(ctx, memory, places)
        port = getattr(memory.ports, name)
        for row, is_there in ((4, True), (5, False), (19, False)):
            if name == "out":
                ctx.set(port.write.valid, 1)
                ctx.set(port.write.payload, {"address": row, "data": [1]})
            else:
                ctx.set(port.address.valid, 1)
                ctx.set(port.address.payload, row)
            _, ready = (
                await ctx.delay(1e-9),
                port.write.ready if name == "out" else port.address.ready,
            )
            assert ctx.get(ready) == is_there
            assert ctx.get(memory.faults) == (0 if is_there else 1 << number)
        await finish(ctx, memory)
        if name == "out":
            assert ctx.get(memory.faults) == 0
            assert await host_read(ctx, memory, "seg", 20, 2) == SEGMENTS

    simulate(SharedArrays(ARRAYS, 8, banks=2, latency=1, in_flight=3), bench)

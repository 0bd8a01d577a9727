from __future__ import annotations

from typing import Any

import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.data_memory import DataMemory
from gnarl.hw.lib.machine.memory_map import Window
from tests.hw.dpu.simulate import seeded, simulate

ROWS, WORDS = 20, 8


def memory() -> DataMemory:
    return DataMemory(Window("data", ROWS, WORDS, 16))


async def cycle(
    ctx: Any,
    device: DataMemory,
    *,
    row: int = 0,
    load: int = 0,
    store: int = 0,
    words: list[int] | None = None,
    clear: int = 0,
    busy: int = 1,
) -> tuple[int, list[int]]:
    """One cycle: the mask of words that were loaded, and all words."""
    ctx.set(device.busy, busy)
    ctx.set(device.row, row)
    ctx.set(device.load_enable, load)
    ctx.set(device.store_enable, store)
    ctx.set(device.words, words or [0] * WORDS)
    ctx.set(device.clear, clear)
    seen = ctx.get(device.loaded), [ctx.get(word) for word in device.loads]
    await ctx.tick()
    return seen


async def load(ctx: Any, device: DataMemory, row: int) -> list[int]:
    for inputs in ({"row": row, "load": 255}, {}):
        assert (await cycle(ctx, device, **inputs))[0] == 0
    loaded, words = await cycle(ctx, device)
    assert loaded == 255
    return words


def test_latency_is_the_configurations():
    assert DataMemory.latency == DpuConfig().load_latency


def test_a_load_after_a_store_sees_what_was_stored():
    device = memory()

    async def process(ctx):
        await cycle(ctx, device, row=3, store=255, words=list(range(10, 18)))
        assert await load(ctx, device, 3) == list(range(10, 18))
        await cycle(ctx, device, row=3, store=0b1010_0001, words=list(range(20, 28)))
        assert await load(ctx, device, 3) == [20, 11, 12, 13, 14, 25, 16, 27]

    simulate(device, process)


def test_what_is_under_way_when_busy_falls_is_not_stored():
    device = memory()

    async def process(ctx):
        await cycle(ctx, device, row=3, store=255, words=[1] * WORDS)
        await cycle(ctx, device, row=3, store=255, words=[2] * WORDS)
        await cycle(ctx, device, busy=0)
        assert await load(ctx, device, 3) == [1] * WORDS

    simulate(device, process)


def test_clear_forgets_what_is_under_way():
    device = memory()

    async def process(ctx):
        await cycle(ctx, device, row=3, store=255, words=[1] * WORDS)
        await cycle(ctx, device, row=3, store=255, words=[2] * WORDS, clear=1)
        await cycle(ctx, device)
        assert await load(ctx, device, 3) == [1] * WORDS
        await cycle(ctx, device, row=3, load=255)
        await cycle(ctx, device, clear=1)
        assert (await cycle(ctx, device))[0] == 0
        await cycle(ctx, device, row=3, load=255, clear=1)
        await cycle(ctx, device)
        assert (await cycle(ctx, device))[0] == 0

    simulate(device, process)


def test_the_host_has_the_memory_while_not_busy():
    device = memory()

    async def process(ctx):
        host = device.host
        for lane in range(WORDS):
            ctx.set(host.row, 7)
            ctx.set(host.lane, lane)
            ctx.set(host.write_enable, 1)
            ctx.set(host.write_data, 50 + lane)
            await cycle(ctx, device, busy=0)
        ctx.set(host.write_enable, 0)
        assert await load(ctx, device, 7) == list(range(50, 58))
        await cycle(ctx, device, row=7, store=0b100, words=[9] * WORDS)
        await cycle(ctx, device)
        ctx.set(host.lane, 2)
        await cycle(ctx, device, busy=0)
        assert ctx.get(host.read_data) == 9

    simulate(device, process)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_random_loads_and_stores_every_cycle(share):
    device = memory()
    rng = seeded()

    async def process(ctx):
        held = [[0] * WORDS for _ in range(ROWS)]
        for row in range(ROWS):
            await cycle(ctx, device, row=row, store=255, words=held[row])
        loads: list[tuple[int, list[int]]] = [(0, []), (0, [])]
        for _ in range(500):
            row, mask = rng.randrange(ROWS), rng.getrandbits(WORDS)
            if rng.random() < share:
                words = [rng.randrange(1 << 16) for _ in range(WORDS)]
                held[row] = [
                    words[lane] if mask >> lane & 1 else held[row][lane] for lane in range(WORDS)
                ]
                seen = await cycle(ctx, device, row=row, store=mask, words=words)
                loads.append((0, []))
            else:
                seen = await cycle(ctx, device, row=row, load=mask)
                loads.append((mask, list(held[row])))
            mask, words = loads.pop(0)
            assert seen[0] == mask
            if mask:
                assert seen[1] == words

    simulate(device, process)

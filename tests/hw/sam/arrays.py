"""Drives the memories of a machine: their ports during a run, their windows before and after."""

from __future__ import annotations

import random
from typing import Any

from amaranth.sim import Simulator

from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.sam.memory.placement import MemoryRows

SEG = Window("seg", 20, 2, 8)
CRD = Window("crd", 24, 1, 8)
OUT = Window("out", 24, 1, 8)
ARRAYS = [(SEG, False), (CRD, False), (OUT, True)]

SEGMENTS = [[row, 100 + row] for row in range(SEG.rows)]
COORDINATES = [[200 - row] for row in range(CRD.rows)]


WINDOWS = [window for window, _ in ARRAYS]
PLACES = [(0, 20), (20, 24), (44, 24)]
"""Each array has its own, those of two words first."""


def simulate(memory: Any, bench: Any) -> None:
    """Runs ``bench``; arrays that share a memory each have their own place."""

    async def testbench(ctx: Any) -> None:
        if hasattr(memory, "places"):
            place(ctx, memory, PLACES)
        await bench(ctx, memory)

    simulator = Simulator(memory)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def place(ctx: Any, memory: Any, places: list[tuple[int, int]]) -> None:
    ctx.set(memory.places, [{"base": base, "rows": rows} for base, rows in places])


def host_window(memory: Any, name: str) -> tuple[Any, int]:
    """The window onto an array of those at ``PLACES``, and the first row in it."""
    if not hasattr(memory, "places"):
        return getattr(memory.windows, name), 0
    number = [window.name for window in WINDOWS].index(name)
    words = WINDOWS[number].words
    first = MemoryRows.of(WINDOWS).first(words)
    kind = memory.windows.pairs if words == 2 else memory.windows.words
    return kind, PLACES[number][0] - first


async def host_write(ctx: Any, memory: Any, name: str, rows: list[list[int]]) -> None:
    """Each word of an array, from row 0."""
    host, first = host_window(memory, name)
    ctx.set(host.selected, 1)
    ctx.set(host.write_enable, 1)
    for row, words in enumerate(rows):
        for lane, word in enumerate(words):
            ctx.set(host.row, first + row)
            ctx.set(host.lane, lane)
            ctx.set(host.write_data, word)
            await ctx.tick()
    ctx.set(host.write_enable, 0)
    ctx.set(host.selected, 0)


async def host_read(ctx: Any, memory: Any, name: str, rows: int, words: int) -> list[list[int]]:
    host, first = host_window(memory, name)
    ctx.set(host.selected, 1)
    found = []
    for row in range(rows):
        found.append([])
        for lane in range(words):
            ctx.set(host.row, first + row)
            ctx.set(host.lane, lane)
            await ctx.tick()
            found[-1].append(ctx.get(host.read_data))
    ctx.set(host.selected, 0)
    return found


async def load(ctx: Any, memory: Any) -> None:
    """Both arrays that are read; a run begins."""
    await host_write(ctx, memory, "seg", SEGMENTS)
    await host_write(ctx, memory, "crd", COORDINATES)
    ctx.set(memory.busy, 1)


async def run(
    ctx: Any,
    memory: Any,
    reads: dict[str, list[int]],
    writes: list[tuple[int, int]],
    *,
    stalls: float = 0.0,
    seed: int = 0,
) -> tuple[dict[str, list[list[int]]], dict[str, list[int]], int]:
    """Answers to ``reads`` and the cycles in which they came, by port; how long it all took.

    ``writes``: rows and words for ``out``. Ports and blocks pause in a share of cycles.
    """
    noise = random.Random(seed)
    asks = {name: list(rows) for name, rows in reads.items()}
    answers: dict[str, list[list[int]]] = {name: [] for name in reads}
    times: dict[str, list[int]] = {name: [] for name in reads}
    puts = list(writes)
    offered = dict.fromkeys([*reads, "out"], False)
    waiting: dict[str, list[int]] = {}
    for cycle in range(2000):
        for name, rows in asks.items():
            address = getattr(memory.ports, name).address
            offered[name] = bool(rows) and (offered[name] or noise.random() >= stalls)
            ctx.set(address.valid, offered[name])
            if offered[name]:
                ctx.set(address.payload, rows[0])
            ctx.set(getattr(memory.ports, name).data.ready, noise.random() >= stalls)
        write = memory.ports.out.write
        offered["out"] = bool(puts) and (offered["out"] or noise.random() >= stalls)
        ctx.set(write.valid, offered["out"])
        if offered["out"]:
            ctx.set(write.payload, {"address": puts[0][0], "data": [puts[0][1]]})
        for name, rows in asks.items():
            port = getattr(memory.ports, name)
            if offered[name] and ctx.get(port.address.ready):
                del rows[0]
                offered[name] = False
            row = list(ctx.get(port.data.payload)) if ctx.get(port.data.valid) else None
            assert name not in waiting or row == waiting.pop(name)
            if row is not None and ctx.get(port.data.ready):
                answers[name].append(row)
                times[name].append(cycle)
            elif row is not None:
                waiting[name] = row
        if offered["out"] and ctx.get(write.ready):
            del puts[0]
            offered["out"] = False
        await ctx.tick()
        if not puts and all(len(answers[name]) == len(reads[name]) for name in reads):
            ctx.set(write.valid, 0)
            return answers, times, cycle + 1
    raise AssertionError(f"left after 2000 cycles: {asks}, {puts}; answers {answers}")


async def finish(ctx: Any, memory: Any) -> None:
    """The run ends, and all that is under way with it."""
    ctx.set(memory.busy, 0)
    ctx.set(memory.reset, 1)
    await ctx.tick()
    ctx.set(memory.reset, 0)

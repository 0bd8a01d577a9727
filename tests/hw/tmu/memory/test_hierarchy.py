"""Both units on one memory, through their caches."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory.hierarchy import Hierarchy
from gnarl.hw.tmu.memory_map import MEMORY_EVENTS
from gnarl.sw.runtime.machine.verilate import lint

CONFIG = TmuConfig(
    lanes=4,
    requests=4,
    loads=4,
    l1_bytes=1 << 10,
    l2_bytes=1 << 11,
    memory_bytes=1 << 14,
    latency=10,
    bandwidth=16,
)
WINDOW = Window("memory", CONFIG.memory_lines, LINE_WORDS)
USED_LINES = 12


@dataclass
class Bench:
    """The hierarchy, with memory as it has to be, and what has happened. ``places``: of vectors
    that the access unit stores, instead of any."""

    seed: int
    count: int
    stalls: float
    places: Sequence[int] = ()
    words: npt.NDArray[np.int64] = field(
        default_factory=lambda: np.arange(USED_LINES * LINE_WORDS) + 5000
    )
    events: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MEMORY_EVENTS, 0))
    cycles: int = 0

    def run(self) -> None:
        """Reads of all by the access unit, stores to the first third, reads and writes of the last
        third by the execute unit: neither reads what the other writes."""
        self._hierarchy = Hierarchy(CONFIG, WINDOW)
        m = Module()
        m.submodules.hierarchy = self._hierarchy
        self._busy = Signal()
        m.d.comb += self._hierarchy.busy.eq(self._busy)
        simulator = Simulator(m)
        simulator.add_clock(1e-6)
        self._ready, self._finished = False, 0
        for process in (self._access, self._store, self._execute):
            simulator.add_testbench(process)
        simulator.add_testbench(self._begin)
        simulator.add_process(self._count)
        simulator.run()

    async def _begin(self, ctx: Any) -> None:
        host = self._hierarchy.host
        ctx.set(host.write_enable, 1)
        for address, word in enumerate(self.words.tolist()):
            ctx.set(host.row, address // LINE_WORDS)
            ctx.set(host.lane, address % LINE_WORDS)
            ctx.set(host.write_data, word)
            await ctx.tick()
        ctx.set(host.write_enable, 0)
        ctx.set(self._busy, 1)
        self._ready = True
        while self._finished < 3:
            await ctx.tick()
        assert not ctx.get(self._hierarchy.idle)
        ctx.set(self._hierarchy.drain, 1)
        ctx.set(self._hierarchy.drain_stores, 1)
        while not ctx.get(self._hierarchy.idle):
            await ctx.tick()
        ctx.set(self._busy, 0)
        for address, word in enumerate(self.words.tolist()):
            ctx.set(host.row, address // LINE_WORDS)
            ctx.set(host.lane, address % LINE_WORDS)
            await ctx.tick()
            assert ctx.get(host.read_data) == word, address

    async def _wait(self, ctx: Any) -> random.Random:
        while not self._ready:
            await ctx.tick()
        return random.Random(self.seed)

    async def _access(self, ctx: Any) -> None:
        """Lines of the middle third, many at a time."""
        noise = await self._wait(ctx)
        port = self._hierarchy.access
        under_way: dict[int, int] = {}
        left = self.count
        while left or under_way:
            free = [tag for tag in range(CONFIG.requests) if tag not in under_way]
            line, tag = noise.randrange(4, 8), noise.choice(free) if free else 0
            offers = bool(left and free and noise.random() >= self.stalls)
            ctx.set(
                port.request.payload,
                {
                    "line": line,
                    "tag": tag,
                    "cached": noise.random() < 0.8,
                    "temporal": noise.random() < 0.8,
                },
            )
            ctx.set(port.request.valid, offers)
            while True:
                ctx.set(port.response.ready, noise.random() >= self.stalls)
                _, _, accepted, came, answer, taken = await ctx.tick().sample(
                    port.request.ready,
                    port.response.valid,
                    port.response.payload,
                    port.response.ready,
                )
                if came and taken:
                    first = under_way.pop(answer.tag) * LINE_WORDS
                    assert list(answer.data) == self.words[first : first + LINE_WORDS].tolist()
                if not offers or accepted:
                    break
            if offers:
                under_way[tag] = line
                left -= 1
        ctx.set(port.request.valid, 0)
        self._finished += 1

    async def _store(self, ctx: Any) -> None:
        noise = await self._wait(ctx)
        request = self._hierarchy.store.request
        places = [noise.randrange(4 * LINE_WORDS - 4) for _ in range(self.count)]
        for address in self.places or places:
            lanes = 15 if self.places else noise.randrange(1, 16)
            data = [noise.randrange(1 << 32) for _ in range(4)]
            ctx.set(request.payload, {"address": address, "lanes": lanes, "write": 1, "data": data})
            ctx.set(request.valid, 1)
            await _accepted(ctx, request)
            ctx.set(request.valid, 0)
            for lane in range(4):
                if lanes >> lane & 1:
                    self.words[address + lane] = data[lane]
            while noise.random() < self.stalls:
                await ctx.tick()
        self._finished += 1

    async def _execute(self, ctx: Any) -> None:
        noise = await self._wait(ctx)
        port = self._hierarchy.execute
        base = 8 * LINE_WORDS
        ctx.set(port.response.ready, 1)
        for _ in range(self.count):
            address, lanes = base + noise.randrange(4 * LINE_WORDS - 4), noise.randrange(1, 16)
            data = [noise.randrange(1 << 32) for _ in range(4)]
            kind = noise.choice(("read", "write", "prefetch"))
            ctx.set(
                port.request.payload,
                {
                    "address": address,
                    "lanes": lanes,
                    "write": kind == "write",
                    "prefetch": kind == "prefetch",
                    "tag": noise.randrange(4),
                    "data": data,
                },
            )
            ctx.set(port.request.valid, 1)
            await _accepted(ctx, port.request)
            ctx.set(port.request.valid, 0)
            for lane in range(4):
                if kind == "write" and lanes >> lane & 1:
                    self.words[address + lane] = data[lane]
            if kind == "read":
                *_, payload = (
                    await ctx.tick().sample(port.response.payload).until(port.response.valid)
                )
                for lane in range(4):
                    if lanes >> lane & 1:
                        assert payload.data[lane] == self.words[address + lane]
        self._finished += 1

    async def _count(self, ctx: Any) -> None:
        async for _, _, happens in ctx.tick().sample(self._hierarchy.happens):
            self.cycles += 1
            for place, name in enumerate(MEMORY_EVENTS):
                self.events[name] += happens >> place & 1


async def _accepted(ctx: Any, request: Any) -> None:
    await ctx.tick().until(request.ready)


@pytest.mark.parametrize("stalls", (0.0, 0.5))
def test_everybody_reads_what_was_written(stalls: float):
    bench = Bench(seed=1, count=60, stalls=stalls)
    bench.run()
    events = bench.events
    assert all(events[name] for name in MEMORY_EVENTS if not name.endswith("merged"))
    assert events["lines_read"] >= events["l2_misses"]
    assert events["memory_busy"] >= 4 * events["lines_read"] + events["lines_written"]


def test_neighbours_are_written_together():
    """Vectors that lie in two pieces of a line, too."""
    bench = Bench(seed=1, count=0, stalls=0.0, places=[2, 6, 10, 16, 20])
    bench.run()
    assert bench.events["lines_written"] == 2
    assert bench.events["memory_busy"] == 4 + 2


def test_its_verilog_is_clean():
    assert lint(to_verilog(Hierarchy(CONFIG, WINDOW), "hierarchy"), "hierarchy") == []

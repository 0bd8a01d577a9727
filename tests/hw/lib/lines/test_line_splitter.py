"""Vectors of words at any address, over a memory of lines with or without a cache."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.lines.cache import Cache
from gnarl.hw.lib.lines.line_memory import LineMemory
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.lines.line_splitter import PART_BITS, LineSplitter
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.machines.kept_simulators import KeptSimulator

LINES, LANES, TAG_BITS, LATENCY = 4, 4, 2, 5
ADDRESS_BITS = (LINES * LINE_WORDS - 1).bit_length()


@dataclass(frozen=True)
class Access:
    """A read, a prefetch, or a write of ``data`` if there is any."""

    address: int
    lanes: int = (1 << LANES) - 1
    data: tuple[int, ...] = ()
    prefetch: bool = False


@dataclass
class Traffic:
    """Cycles in which requests were accepted, and responses came; and the reads' words in use."""

    accepted: list[int]
    answered: list[int]
    words: list[tuple[int | None, ...]]


class Design(wiring.Component):
    """A splitter and its memory, with a cache between them or not."""

    def __init__(self, cached: bool) -> None:
        super().__init__({"busy": In(1)})
        self.splitter = LineSplitter(LANES, ADDRESS_BITS, TAG_BITS)
        line_bits, tag_bits = ADDRESS_BITS - 4, TAG_BITS + PART_BITS
        self._cache = None
        if cached:
            self._cache = Cache(
                sets=2,
                ways=2,
                line_bits=line_bits,
                line_words=LINE_WORDS,
                tag_bits=tag_bits,
                misses=4,
                waiting=8,
            )
            tag_bits = self._cache.fetch_bits
        window = Window("lines", LINES, LINE_WORDS)
        self.memory = LineMemory(window, LINE_WORDS, LATENCY, tag_bits)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.splitter, m.submodules.memory = self.splitter, self.memory
        port: Any = self.splitter.down
        if self._cache is not None:
            m.submodules.cache = self._cache
            wiring.connect(m, port, self._cache.up)
            port = self._cache.down
        wiring.connect(m, port, self.memory.port)
        m.d.comb += self.memory.busy.eq(self.busy)
        return m


@functools.cache
def simulator_of(cached: bool) -> KeptSimulator:
    return KeptSimulator(Design(cached))


def run(
    accesses: list[Access], *, cached: bool = False, stalls: float = 0.0, seed: int = 0
) -> Traffic:
    """Word w of memory is w + 1000 at first."""
    simulator = simulator_of(cached)
    design: Design = simulator.component
    splitter, memory = design.splitter, design.memory
    noise = random.Random(seed)
    reads = [each for each in accesses if not each.data and not each.prefetch]
    traffic = Traffic([], [0] * len(reads), [()] * len(reads))

    async def bench(ctx: Any) -> None:
        for first in range(LINES):
            words = [1000 + LINE_WORDS * first + word for word in range(LINE_WORDS)]
            await _write_line(ctx, memory, first, words)
        ctx.set(design.busy, 1)
        up = splitter.up
        left, cycle, asked = list(accesses), 0, 0
        free = set(range(1 << TAG_BITS))
        of_tag: dict[int, tuple[int, int]] = {}
        offered: Access | None = None
        answers = 0
        while left or offered or answers < len(reads):
            if offered is None and left and noise.random() >= stalls:
                is_read = not left[0].data and not left[0].prefetch
                if free or not is_read:
                    offered = left.pop(0)
                    tag = noise.choice(sorted(free)) if is_read else 0
                    data = [
                        offered.data[n % len(offered.data)] if offered.data else 0
                        for n in range(LANES)
                    ]
                    ctx.set(
                        up.request.payload,
                        {
                            "address": offered.address,
                            "lanes": offered.lanes,
                            "write": bool(offered.data),
                            "prefetch": offered.prefetch,
                            "tag": tag,
                            "data": data,
                        },
                    )
                    if is_read:
                        free.remove(tag)
                        of_tag[tag] = asked, offered.lanes
                        asked += 1
            ctx.set(up.request.valid, offered is not None)
            ctx.set(up.response.ready, noise.random() >= stalls)
            _, _, accepted, came, payload, taken, idle = await ctx.tick().sample(
                up.request.ready, up.response.valid, up.response.payload, up.response.ready, up.idle
            )
            assert not (idle and of_tag and offered is None)
            if came and taken:
                number, lanes = of_tag.pop(payload.tag)
                free.add(payload.tag)
                traffic.answered[number] = cycle
                traffic.words[number] = tuple(
                    word if lanes >> lane & 1 else None for lane, word in enumerate(payload.data)
                )
                answers += 1
            if offered is not None and accepted:
                traffic.accepted.append(cycle)
                offered = None
            cycle += 1
            assert cycle < 2000

    simulator.run(bench)
    return traffic


async def _write_line(ctx: Any, memory: LineMemory, line: int, words: list[int]) -> None:
    """Through the port of the memory, before anything else uses it."""
    for word, value in enumerate(words):
        ctx.set(memory.host.row, line)
        ctx.set(memory.host.lane, word)
        ctx.set(memory.host.write_data, value)
        ctx.set(memory.host.write_enable, 1)
        await ctx.tick()
    ctx.set(memory.host.write_enable, 0)


def meaning(accesses: list[Access]) -> list[tuple[int | None, ...]]:
    words = np.arange(LINES * LINE_WORDS + LANES) + 1000
    found = []
    for access in accesses:
        lanes = [lane for lane in range(LANES) if access.lanes >> lane & 1]
        if access.data:
            for lane in lanes:
                words[access.address + lane] = access.data[lane % len(access.data)]
        elif not access.prefetch:
            found.append(
                tuple(
                    int(words[access.address + lane]) if lane in lanes else None
                    for lane in range(LANES)
                )
            )
    return found


def test_every_offset_and_every_lane():
    reads = [Access(address) for address in range(2 * LINE_WORDS)]
    reads += [Access(30, lanes) for lanes in range(1, 1 << LANES)]
    assert run(reads).words == meaning(reads)


def test_writes_of_some_lanes_in_two_lines():
    accesses = [
        access
        for lanes in range(1, 1 << LANES)
        for access in (Access(14, lanes, (lanes, 50 + lanes)), Access(12), Access(16))
    ]
    assert run(accesses).words == meaning(accesses)


def test_lanes_outside_memory_are_not_asked_for():
    end = LINES * LINE_WORDS
    accesses = [Access(end - 2, 0b11, (7, 8)), Access(end - 1, 0b1), Access(0)]
    assert run(accesses).words == meaning(accesses)


def test_one_line_takes_a_cycle_and_two_lines_take_two():
    traffic = run([Access(0), Access(15), Access(32)])
    assert traffic.accepted == [0, 2, 3]
    assert traffic.answered == [LATENCY + 1, LATENCY + 3, LATENCY + 4]


def test_prefetches_have_no_response_and_fill_the_cache():
    accesses = [Access(15, prefetch=True)] * 3 + [Access(0, 0b1, (9,)), Access(14)]
    assert run(accesses, cached=True).words == meaning(accesses)


@st.composite
def _accesses(draw: st.DrawFn) -> list[Access]:
    accesses = []
    for _ in range(draw(st.integers(1, 40))):
        lanes = draw(st.integers(1, (1 << LANES) - 1))
        last = LINES * LINE_WORDS - lanes.bit_length()
        kind = draw(st.sampled_from(("read", "read", "write", "prefetch")))
        data = tuple(draw(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=LANES)))
        accesses.append(
            Access(
                draw(st.integers(0, last)),
                lanes,
                data if kind == "write" else (),
                kind == "prefetch",
            )
        )
    return accesses


@given(_accesses(), st.booleans(), st.sampled_from((0.0, 0.3, 0.7)), st.integers(0, 2**16))
@settings(max_examples=8, deadline=None)
def test_random_accesses(accesses: list[Access], cached: bool, stalls: float, seed: int):
    assert run(accesses, cached=cached, stalls=stalls, seed=seed).words == meaning(accesses)


@pytest.mark.parametrize("lanes", (2, 16))
def test_its_verilog_is_clean(lanes: int):
    assert lint(to_verilog(LineSplitter(lanes, 12, 4), "splitter"), "splitter") == []

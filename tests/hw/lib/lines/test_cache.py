"""A cache in front of a memory: answers, hits and misses, and cycles."""

from __future__ import annotations

import functools
import random
from typing import Any, NamedTuple

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.lines.cache import Cache
from gnarl.hw.lib.lines.line_memory import LineMemory
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.lru_cache import lru_hits
from gnarl.sw.runtime.machine.verilate import lint
from tests.hw.lib.lines.drive import Request, Traffic, drive, meaning
from tests.support.machines.kept_simulators import KeptSimulator

LINES, WORDS, SETS, WAYS = 32, 2, 2, 2
LATENCY = 12


class Events(NamedTuple):
    """Counts of pulses, and of what the memory accepted."""

    hit: int
    merged: int
    miss: int
    reads: int
    writes: int


class Design:
    """A cache and its memory, which a pulse of ``reset`` resets together; equal ones share a
    simulator, which is slow to make."""

    def __init__(self, words_per_cycle: int = 2, latency: int = LATENCY, **changes: int) -> None:
        parameters = dict(sets=SETS, ways=WAYS, misses=4, waiting=6) | changes
        self.sets = parameters["sets"]
        self._simulation = _simulation(words_per_cycle, latency, **parameters)
        self.cache = self._simulation.cache
        self.memory = self._simulation.memory
        self.reset = self._simulation.reset
        self._counts = dict.fromkeys(Events._fields, 0)

    @property
    def events(self) -> Events:
        return Events(**self._counts)

    def simulate(self, bench: Any) -> None:
        self._simulation.run(bench, self._counts)


class Simulation:
    """Runs testbenches, each from the power-up on."""

    def __init__(self, words_per_cycle: int, latency: int, **parameters: int) -> None:
        self.cache = Cache(line_bits=5, line_words=WORDS, tag_bits=8, **parameters)
        window = Window("lines", LINES, WORDS)
        self.memory = LineMemory(window, words_per_cycle, latency, self.cache.fetch_bits)
        self.reset = Signal()
        m = Module()
        m.submodules.cache = ResetInserter(self.reset)(self.cache)
        m.submodules.memory = ResetInserter(self.reset)(self.memory)
        wiring.connect(m, self.cache.down, self.memory.port)
        m.d.comb += self.memory.busy.eq(1)
        self._simulator = KeptSimulator(m)
        self._simulator.add_process(self._count)
        self._counts: dict[str, int] = {}

    def run(self, bench: Any, counts: dict[str, int]) -> None:
        """Adds events to ``counts``."""
        self._counts = counts
        self._simulator.run(bench)

    async def _count(self, ctx: Any) -> None:
        cache, request = self.cache, self.cache.down.request
        watched = (cache.hit, cache.merged, cache.miss)
        samples = ctx.tick().sample(*watched, request.valid & request.ready, request.payload.write)
        async for _, _, *events, accepted, write in samples:
            for name, event in zip(("hit", "merged", "miss"), events, strict=True):
                self._counts[name] += event
            self._counts["writes" if write else "reads"] += accepted


_simulation = functools.cache(Simulation)


def run(design: Design, requests: list[Request], before: int = 0, **settings: Any) -> Traffic:
    """What happens at the cache, from its first cycle after the sets are empty on.

    The first ``before`` requests are over, answers and all, before the others come.
    """
    found = []

    async def bench(ctx: Any) -> None:
        await ctx.tick().repeat(design.sets)
        if before:
            await drive(ctx, design.cache.up, requests[:before], **settings)
        found.append(await drive(ctx, design.cache.up, requests[before:], **settings))

    design.simulate(bench)
    return found[0]


def write(line: int, *words: int, mask: int = 0b11) -> Request:
    return Request(line, mask, words)


def test_hits_one_a_cycle_after_the_latency():
    design = Design()
    traffic = run(design, [Request(4)] * 21, before=1)
    assert traffic.accepted == list(range(20))
    assert traffic.answers == [
        (place + design.cache.latency, place, traffic.answers[0][2]) for place in range(20)
    ]
    assert design.events == Events(hit=20, merged=0, miss=1, reads=1, writes=0)


def test_misses_fill_the_memorys_channel():
    design = Design(words_per_cycle=1, sets=16, misses=10, waiting=10)
    traffic = run(design, [Request(line) for line in range(30)])
    cycles = [cycle for cycle, *_ in traffic.answers]
    assert np.diff(cycles).tolist() == [2] * 29
    assert design.events == Events(hit=0, merged=0, miss=30, reads=30, writes=0)


def test_the_latency_of_a_miss():
    traffic = run(Design(), [Request(4)])
    # A cycle each to look, to wait in the queue of requests, and in that of answers.
    assert traffic.answers[0][0] == LATENCY + 3
    assert traffic.idle == LATENCY + 4


def test_a_hit_overtakes_a_miss():
    traffic = run(Design(), [Request(0), Request(1), Request(0)], before=1)
    assert [tag for _, tag, _ in traffic.answers] == [1, 0]


def test_hits_take_turns_with_lines_that_come():
    """One of the lines comes in every cycle."""
    design = Design(sets=16, misses=24, waiting=24)
    misses, hits = list(range(1, 25)), [0] * 4
    requests = [Request(line) for line in (0, *misses, *hits, *misses)]
    traffic = run(design, requests, before=1)
    tags = [tag for _, tag, _ in traffic.answers]
    first = len(misses)
    places = [tags.index(tag) for tag in range(first, first + len(hits))]
    assert np.diff(places).tolist() == [2] * 3
    assert traffic.answers[places[0]][0] - traffic.accepted[first] <= design.cache.latency + 1


def test_reads_of_a_line_that_is_fetched_make_no_requests():
    design = Design()
    traffic = run(design, [Request(4)] * 5)
    assert design.events == Events(hit=0, merged=4, miss=1, reads=1, writes=0)
    first = LATENCY + 3
    assert [cycle for cycle, *_ in traffic.answers] == list(range(first, first + 5))


def test_more_reads_of_a_line_than_can_wait():
    design = Design(waiting=2)
    traffic = run(design, [Request(4)] * 9)
    assert len(traffic.answers) == 9
    assert design.events.reads == design.events.miss == 1
    assert design.events.hit + design.events.merged == 8


def test_the_line_that_was_used_longest_ago_goes():
    design = Design()
    # All in set 0: 0 is used again, so 4 displaces 2.
    run(design, [Request(line) for line in (0, 2, 0, 4, 0, 2)])
    assert (design.events.miss, design.events.reads) == (4, 4)


def test_a_read_that_is_not_temporal_is_answered_by_a_held_line_and_holds_none():
    design = Design()
    passing = Request(0, temporal=0)
    run(design, [passing, passing, Request(0), passing])
    assert design.events.reads == design.events.miss == 3
    assert design.events.hit + design.events.merged == 1


def test_a_read_that_is_not_temporal_does_not_count_as_use():
    design = Design()
    run(design, [Request(0), Request(2), Request(0, temporal=0), Request(4), Request(0)])
    assert design.events.miss == 4


def test_a_read_that_is_not_cached_passes_by_a_held_line():
    design = Design()
    run(design, [Request(0), Request(0, cached=0), Request(0, cached=0)], before=1)
    assert design.events == Events(hit=0, merged=0, miss=1, reads=3, writes=0)


@pytest.mark.parametrize("cached", [0, 1])
def test_a_write_changes_a_held_line_and_goes_through(cached):
    design = Design()
    requests = [
        write(3, 1, 2),
        Request(3),
        Request(3, 0b10, (9,), cached=cached),
        Request(3),
        Request(3, cached=0),
    ]
    traffic = run(design, requests, before=2)
    assert {tag: words for _, tag, words in traffic.answers} == {1: (1, 9), 2: (1, 9)}
    assert design.events == Events(hit=1, merged=0, miss=1, reads=2, writes=2)


def test_a_write_does_not_hold_its_line():
    design = Design()
    traffic = run(design, [write(3, 5), Request(3)])
    assert traffic.answers[0][2] == (5, 5)
    assert design.events.miss == 1


def test_a_write_to_a_line_that_is_being_fetched_is_seen_by_reads_behind_it_only():
    requests = [write(3, 1), Request(3), Request(3), write(3, 7), Request(3), Request(3, cached=0)]
    traffic = run(Design(), requests)
    assert {tag: words[0] for _, tag, words in traffic.answers} == {1: 1, 2: 1, 4: 7, 5: 7}


@pytest.mark.parametrize("hits", range(9, 15))
def test_a_write_when_another_line_comes(hits):
    requests = [Request(0), Request(1)] + [Request(0)] * hits + [write(0, 7), Request(0)]
    traffic = run(Design(), requests, before=1)
    assert {tag: words for _, tag, words in traffic.answers}[hits + 2] == (7, 7)


def test_a_line_that_is_being_fetched_stays_until_it_has_come():
    fill = [write(line, 40 + line) for line in range(LINES)]
    requests = [Request(line) for line in (2, 1, 0, 2, 4, 4)]
    traffic = run(Design(), fill + requests, before=LINES + 1)
    assert [words[0] for _, _, words in sorted(traffic.answers, key=lambda a: a[1])] == [
        40 + line for line in (1, 0, 2, 4, 4)
    ]
    times = {tag: cycle for cycle, tag, _ in traffic.answers}
    assert times[3] > times[1] + LATENCY  # 4 takes the place of 0


def test_idle_when_the_last_write_has_landed():
    design = Design(words_per_cycle=1)
    traffic = run(design, [write(3, 5)] * 3)
    # Each has the channel for 2 cycles, the first from cycle 2 on.
    assert traffic.idle == 2 + 3 * 2


@pytest.mark.parametrize("at", [1, 2, 4, 10, 14, 16, 20])
def test_a_reset_at_any_time_leaves_an_empty_cache(at):
    design = Design()
    fill = [write(line, 40 + line) for line in range(LINES)]
    up = design.cache.up

    async def bench(ctx: Any) -> None:
        await drive(ctx, up, fill)
        ctx.set(up.response.ready, 0)
        ctx.set(up.request.valid, 1)
        ctx.set(up.request.payload, {"line": 2, "cached": 1, "temporal": 1})
        await ctx.tick().repeat(at)
        ctx.set(up.request.valid, 0)
        ctx.set(design.reset, 1)
        await ctx.tick()
        ctx.set(design.reset, 0)
        assert ctx.get(up.idle) and not ctx.get(up.response.valid)
        before = design.events
        traffic = await drive(ctx, up, [Request(line) for line in (2, 3, 2)])
        assert {tag: words[0] for _, tag, words in traffic.answers} == {0: 42, 1: 43, 2: 42}
        assert design.events.miss - before.miss == design.events.reads - before.reads == 2

    design.simulate(bench)


REQUESTS = st.lists(
    st.builds(
        Request,
        line=st.one_of(st.integers(0, 5), st.integers(0, LINES - 1)),
        write=st.one_of(st.just(0), st.just(0), st.integers(0, 3)),
        data=st.tuples(*[st.integers(0, 2**32 - 1)] * WORDS),
        cached=st.sampled_from([1, 1, 1, 0]),
        temporal=st.sampled_from([1, 1, 1, 0]),
    ),
    max_size=80,
)


@settings(max_examples=20)
@given(
    requests=REQUESTS,
    words_per_cycle=st.sampled_from([1, 2]),
    latency=st.sampled_from([2, 5, 12]),
    shape=st.sampled_from([(2, 2), (4, 2), (2, 4)]),
    misses=st.integers(1, 5),
    waiting=st.integers(1, 6),
    queue=st.integers(2, 4),
    pauses=st.sampled_from([0.0, 0.5]),
    stalls=st.sampled_from([0.0, 0.3, 0.9]),
    seed=st.integers(0, 1000),
)
def test_answers_of_a_flat_memory_and_misses_of_the_model(
    requests, words_per_cycle, latency, shape, misses, waiting, queue, pauses, stalls, seed
):
    requests = [write(line, 100 + line) for line in range(LINES)] + requests
    sets, ways = shape
    design = Design(
        words_per_cycle, latency, sets=sets, ways=ways, misses=misses, waiting=waiting, queue=queue
    )
    traffic = run(design, requests, pauses=pauses, stalls=stalls, seed=seed)
    expected = meaning(requests, np.zeros((LINES, WORDS), np.uint32))
    assert len(traffic.answers) == len(expected)
    assert {tag: words for _, tag, words in traffic.answers} == expected

    reads = [request for request in requests if not request.write]
    cached = np.array([request.cached for request in reads], bool)
    temporal = np.array([request.temporal for request in reads], bool)
    lines = np.array([request.line for request in reads], np.int64)
    hits = int(lru_hits(lines, sets, ways, cached, temporal).sum())
    events = design.events
    assert events.hit + events.merged == hits
    assert events.miss == cached.sum() - hits
    assert events.reads == len(reads) - hits
    assert events.writes == len(requests) - len(reads)


@settings(max_examples=7)
@given(requests=REQUESTS, stalls=st.sampled_from([0.0, 0.5]), seed=st.integers(0, 1000))
def test_fetches_may_come_back_in_any_order(requests, stalls, seed):
    cache = Cache(sets=2, ways=2, line_bits=5, line_words=WORDS, tag_bits=8, misses=4, waiting=6)
    down = cache.down
    memory = np.arange(LINES * WORDS, dtype=np.uint32).reshape(LINES, WORDS)
    expected = meaning(requests, memory.copy())
    noise = random.Random(seed)
    traffic = []

    async def disorder(ctx: Any) -> None:
        under_way: list[tuple[int, list[int]]] = []
        offered = None
        while True:
            if offered is None and under_way and noise.random() < 0.3:
                offered = under_way.pop(noise.randrange(len(under_way)))
                ctx.set(down.response.payload, {"tag": offered[0], "data": offered[1]})
            ctx.set(down.response.valid, offered is not None)
            ctx.set(down.request.ready, noise.random() < 0.5)
            ctx.set(down.idle, offered is None and not under_way)
            if ctx.get(down.request.valid & down.request.ready):
                asked = ctx.get(down.request.payload)
                if asked.write:
                    changed = [place for place in range(WORDS) if asked.write >> place & 1]
                    memory[asked.line, changed] = np.array(list(asked.data))[changed]
                else:
                    under_way.append((asked.tag, memory[asked.line].tolist()))
            if ctx.get(down.response.valid & down.response.ready):
                offered = None
            await ctx.tick()

    async def bench(ctx: Any) -> None:
        traffic.append(await drive(ctx, cache.up, requests, stalls=stalls, seed=seed))

    simulator = Simulator(cache)
    simulator.add_clock(1e-6)
    simulator.add_testbench(disorder, background=True)
    simulator.add_testbench(bench)
    simulator.run()
    assert {tag: words for _, tag, words in traffic[0].answers} == expected


def test_verilog_is_clean():
    cache = Cache(sets=4, ways=2, line_bits=8, line_words=4, tag_bits=3, misses=3, waiting=4)
    assert lint(to_verilog(cache, "cache"), "cache") == []

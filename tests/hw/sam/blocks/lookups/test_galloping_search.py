from __future__ import annotations

from bisect import bisect_left
from collections import deque

import pytest
from amaranth.sim import Simulator
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.lookups.galloping_search import WALKED_ROWS, GallopingSearch


def run(array, searches, latency=1, refuses=()):
    """For each (first, sought): the row found, or where to go on; the cycles; and the probes.

    ``refuses``: cycles in which no probe is taken.
    """
    search = GallopingSearch(16, 64)
    results = []

    async def bench(ctx):
        cycle = 0
        for first, sought in searches:
            while not ctx.get(search.is_idle):
                await serve(ctx, cycle)
                cycle += 1
            ctx.set(search.first, first)
            ctx.set(search.end, len(array))
            ctx.set(search.sought, sought)
            ctx.set(search.begin, 1)
            await serve(ctx, cycle)
            cycle += 1
            ctx.set(search.begin, 0)
            begun, probed = cycle, len(probes)
            while not (outcome := await serve(ctx, cycle)):
                cycle += 1
                assert cycle < begun + 200
            cycle += 1
            results.append((*outcome, cycle - begun, probes[probed:]))

    under_way = deque()
    probes = []

    async def serve(ctx, cycle):
        shown = bool(under_way) and under_way[0][0] <= cycle
        ctx.set(search.answer_valid, shown)
        ctx.set(search.answer_taken, shown)
        row = under_way.popleft()[1] if shown else 0
        ctx.set(search.answer_row, row)
        ctx.set(search.answer_crd, array[row])
        ctx.set(search.probe.ready, cycle not in refuses)
        if ctx.get(search.probe.valid) and cycle not in refuses:
            probe = ctx.get(search.probe.payload)
            probes.append(probe)
            under_way.append((cycle + latency, probe))
        outcome = None
        if ctx.get(search.is_over):
            outcome = "on", ctx.get(search.resume)
            if ctx.get(search.has_found):
                row = ctx.get(search.found_row)
                assert ctx.get(search.found_crd) == array[row]
                assert ctx.get(search.resume) == row + 1
                outcome = "found", row
        await ctx.tick()
        return outcome

    simulator = Simulator(search)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return results


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 9, 16, 33])
def test_finds_every_row(rows):
    array = list(range(1, 3 * rows, 3))
    searches = [(first, sought) for first in (0, rows // 3) for sought in range(3 * rows + 2)]
    results = run(array, searches)
    for (first, sought), (outcome, row, _, _) in zip(searches, results, strict=True):
        wanted = max(first, bisect_left(array, sought))
        assert (outcome, row) == ("found" if wanted < rows else "on", wanted)


def test_takes_twice_the_logarithm_of_the_distance():
    array = list(range(0, 3000, 3))
    rows = [4, 7, 10, 31, 100, 255, 256, 700, 998]
    results = run(array, [(0, 3 * row - 1) for row in rows])
    for row, (outcome, found, cycles, probes) in zip(rows, results, strict=True):
        assert (outcome, found) == ("found", row)
        assert cycles <= 2 * row.bit_length() + 1
        assert len(probes) <= cycles


def test_the_distance_doubles_from_4_and_what_is_between_is_halved():
    array = list(range(100))
    (result,) = run(array, [(10, 33)])
    assert result[:2] == ("found", 33)
    assert result[3] == [13, 17, 25, 41, 33]


@example_settings(max_examples=12)
@given(
    st.lists(st.integers(0, 500), min_size=1, unique=True).map(sorted),
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 520)), min_size=1, max_size=8),
    st.sampled_from([1, 2, 5, 9]),
    st.sets(st.integers(0, 60)),
)
def test_slow_memories(array, searches, latency, refuses):
    searches = [(first % len(array), sought) for first, sought in searches]
    results = run(array, searches, latency, refuses)
    for (first, sought), (outcome, row, _, _) in zip(searches, results, strict=True):
        wanted = max(first, bisect_left(array, sought))
        if outcome == "found":
            # A row before it was not read, unless this one has what is sought.
            assert row == wanted
        else:
            assert wanted - WALKED_ROWS <= row <= wanted

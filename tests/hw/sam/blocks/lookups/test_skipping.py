"""Lookups that skip, driven by a real intersection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from tests.support.sam.nested import depths, mapped, stalls, stream, trees
from tests.support.sam.pair import Pair
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import parse_stream

OUTPUTS = ["out_crd", "out_ref0", "out_ref1"]


def run(lanes, refs, skip=True, **arguments):
    """``lanes``: for each, the fibers of its level; ``refs``: tokens, for both."""
    memories = {}
    for lane, level in enumerate(lanes):
        ends = [sum(map(len, level[: place + 1])) for place in range(len(level))]
        memories[f"mem_seg{lane}"] = [
            (end - len(fiber), end) for end, fiber in zip(ends, level, strict=True)
        ]
        memories[f"mem_crd{lane}"] = [(crd,) for fiber in level for crd in fiber]
    inputs = {"ref0": refs, "ref1": refs}
    return run_block(Pair(16, skip, 4096), inputs, OUTPUTS, memories=memories, **arguments)


@pytest.mark.parametrize(
    "latency, one, other, walked, skipped",
    [
        # The example of the SAM tools, which take 35 and, jumping any distance in a cycle, 16.
        (1, range(30), [3, 25, 40], 36, 25),
        (1, range(300), [5, 100, 250], 305, 43),
        (1, range(300), range(5, 300, 33), 305, 100),
        (4, range(300), [5, 100, 250], 311, 98),
        # What is walked while a search begins ends it where it is far enough.
        (4, [*range(12), *range(260, 300)], [9, 117, 393], 64, 38),
        # Nothing to skip.
        (1, range(0, 60, 2), range(1, 60, 2), 36, 36),
        (1, range(30), range(30), 35, 35),
    ],
)
def test_cycles(latency, one, other, walked, skipped):
    lanes = [[list(one)], [list(other)]]
    refs = parse_stream("0 S0 D")
    for skip, cycles in ((False, walked), (True, skipped)):
        got = run(lanes, refs, skip, latency=latency)
        assert got["out_crd"] == [*sorted(set(one) & set(other)), *parse_stream("S1 D")]
        assert got["cycles"] == [cycles]


def fibers():
    """Sparse ones, dense ones, and empty ones."""
    return st.builds(
        lambda start, step, count: list(range(start, start + step * count, step)),
        st.integers(0, 40),
        st.integers(1, 30),
        st.integers(0, 40),
    )


def check_pair(data):
    depth = data.draw(depths(0, 2))
    lanes = [data.draw(st.lists(fibers(), min_size=2, max_size=2)) for _ in range(2)]
    tree = data.draw(trees(depth, st.integers(0, 1)))
    latency = data.draw(st.sampled_from([1, 1, 2, 5]))
    got = run(lanes, stream(tree, depth), latency=latency, **data.draw(stalls()))
    shared = [sorted(set(lanes[0][ref]) & set(lanes[1][ref])) for ref in range(2)]
    assert got["out_crd"] == stream(mapped(shared.__getitem__, tree, depth), depth + 1)
    for lane, level in enumerate(lanes):
        start = [0, len(level[0])]
        refs = mapped(
            lambda ref, level=level, start=start: [
                start[ref] + level[ref].index(crd) for crd in shared[ref]
            ],
            tree,
            depth,
        )
        assert got[f"out_ref{lane}"] == stream(refs, depth + 1)


@example_settings(max_examples=8)
@given(st.data())
def test_the_same_as_without(data):
    check_pair(data)


@pytest.mark.slow
@example_settings(max_examples=60)
@given(st.data())
def test_the_same_as_without_in_many_cases(data):
    check_pair(data)

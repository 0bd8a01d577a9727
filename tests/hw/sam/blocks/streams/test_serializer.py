from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.streams.parallelizer import Parallelizer
from gnarl.hw.sam.blocks.streams.serializer import Serializer
from gnarl.hw.sam.token import DONE, Kind, stop
from tests.support.sam.nested import depths, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, kind_of, parse_stream


def run(streams, **how):
    inputs = {f"i{lane}": tokens for lane, tokens in enumerate(streams)}
    return run_block(Serializer(8, len(streams)), inputs, ["o"], **how)


def looked_up(tokens, fiber_of):
    """One level down, as a fiber lookup goes: the next token decides the stop of a fiber."""
    found = []
    for token, following in zip(tokens, [*tokens[1:], DONE], strict=True):
        if kind_of(token) == Kind.DATA:
            found += fiber_of(token)
            found += [stop(0)] if kind_of(following) != Kind.STOP else []
        elif kind_of(token) == Kind.STOP:
            found.append(token + 1)
    return [*found, DONE]


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(
    "lanes, expected",
    [
        (("0 1 S0 4 S1 D", "2 3 S0 S0 D"), "0 1 S0 2 3 S0 4 S1 S0 D"),
        (("1 S1 D", "D"), "1 S1 D"),
        (("D", "D", "D"), "D"),
    ],
)
def test_fibers_in_turn(lanes, expected, share):
    got = run([parse_stream(tokens) for tokens in lanes], stalls=share)
    assert format_stream(got["o"]) == expected


@settings(max_examples=20)
@given(st.data(), depths(0, 3), st.integers(2, 5), stalls())
def test_restores_what_was_dealt_out_one_level_down(data, depth, lanes, how):
    """Whatever the lengths of the fibers, and with empty ones at every level."""
    below = data.draw(st.lists(st.lists(words(8), max_size=3), min_size=4, max_size=4))
    tree = data.draw(trees(depth, words(2, empty=False)))
    outputs = [f"o{lane}" for lane in range(lanes)]
    dealt = run_block(Parallelizer(8, lanes), {"i": stream(tree, depth)}, outputs, **how)
    streams = [looked_up(dealt[name], below.__getitem__) for name in outputs]
    got = run(streams, **how)
    assert got["o"] == stream(mapped(below.__getitem__, tree, depth), depth + 1)
    if how["stalls"] == 0:
        assert got["cycles"] == [len(got["o"])]


def test_restores_an_empty_fiber_behind_one_of_more_elements_than_its_last_lane_got():
    dealt = run_block(Parallelizer(8, 2), {"i": parse_stream("1 2 S0 S1 D")}, ["o0", "o1"])
    got = run([looked_up(dealt[name], lambda token: [token]) for name in ("o0", "o1")])
    assert format_stream(got["o"]) == "1 S0 2 S1 S2 D"


@pytest.mark.parametrize("lanes", [("D", "1 S0 D"), ("1 S0 D", "D", "1 S0 D")])
def test_a_fault_where_a_lane_has_fibers_left(lanes):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run([parse_stream(tokens) for tokens in lanes], cycles=20)

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.streams.parallelizer import Parallelizer
from gnarl.hw.sam.token import DONE, EMPTY, Kind
from tests.support.sam.nested import depths, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, kind_of, parse_stream


def run(lanes, tokens, **how):
    outputs = [f"o{lane}" for lane in range(lanes)]
    return run_block(Parallelizer(8, lanes), {"i": tokens}, outputs, **how)


def units(tokens):
    """What is dealt out: data with the stop behind it, or a stop alone."""
    found, has_stop = [], True
    for token in tokens[:-1]:
        is_stop = kind_of(token) == Kind.STOP
        if is_stop and not has_stop:
            found[-1].append(token)
        else:
            found.append([token])
        has_stop = is_stop
    return found


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(
    "tokens, expected",
    [
        ("0 1 2 S0 0 1 2 S1 D", ["0 2 S0 1 D", "1 0 2 S1 D"]),
        ("0 1 2 S0 S0 3 S1 D", ["0 2 S0 3 S1 D", "1 N S0 D"]),
        ("1 2 S0 S1 D", ["1 N S1 D", "2 S0 D"]),
        ("S0 D", ["S0 D", "D"]),
        ("D", ["D", "D"]),
    ],
)
def test_two_lanes(tokens, expected, share):
    got = run(2, parse_stream(tokens), stalls=share)
    assert [format_stream(got[name]) for name in ("o0", "o1")] == expected


def test_three_lanes_of_which_two_wait_for_a_stop():
    got = run(3, parse_stream("1 2 3 S0 S1 S0 D"))
    assert [format_stream(got[f"o{lane}"]) for lane in range(3)] == [
        "1 N S1 D",
        "2 N S0 D",
        "3 S0 D",
    ]


def lane_of(dealt):
    """The tokens of units, with an empty token between one without a stop and a stop alone."""
    found = []
    for unit in dealt:
        is_alone = kind_of(unit[0]) == Kind.STOP
        if is_alone and found and kind_of(found[-1]) != Kind.STOP:
            found.append(EMPTY)
        found += unit
    return found


@settings(max_examples=20)
@given(st.data(), depths(), st.integers(2, 5), stalls())
def test_units_in_turn(data, depth, lanes, how):
    tokens = stream(data.draw(trees(depth, words(8))), depth)
    got = run(lanes, tokens, **how)
    expected = [lane_of(units(tokens)[lane::lanes]) for lane in range(lanes)]
    for lane in range(lanes):
        assert got[f"o{lane}"] == [*expected[lane], DONE]
    if how["stalls"] == 0:
        assert got["cycles"] == [sum(map(len, expected)) + 1]

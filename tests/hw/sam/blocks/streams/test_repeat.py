from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.streams.repeat import Repeat
from tests.support.sam.nested import depths, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream


def run(ref, repsig, **how):
    return run_block(Repeat(8, 4), {"ref": ref, "repsig": repsig}, ["out_ref"], **how)


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(
    "ref, repsig, expected",
    [
        ("5 6 7 S0 D", "0 0 S0 S0 0 S1 D", "5 5 S0 S0 7 S1 D"),
        ("5 S0 S0 6 S1 D", "0 0 S1 S1 0 S2 D", "5 5 S1 S1 6 S2 D"),
        ("0 D", "0 0 S0 D", "0 0 S0 D"),
        ("5 N S0 D", "0 S0 0 0 S1 D", "5 S0 N N S1 D"),
    ],
)
def test_examples_of_the_sam_tools(ref, repsig, expected, share):
    got = run(parse_stream(ref), parse_stream(repsig), stalls=share)
    assert format_stream(got["out_ref"]) == expected


@settings(max_examples=20)
@given(st.data(), depths(0, 3), stalls())
def test_any_references_any_number_of_times(data, depth, how):
    tree = data.draw(trees(depth, st.tuples(words(8), st.integers(0, 3))))
    ref = stream(mapped(lambda leaf: leaf[0], tree, depth), depth)
    repsig = stream(mapped(lambda leaf: [0] * leaf[1], tree, depth), depth + 1)
    got = run(ref, repsig, **how)
    assert got["out_ref"] == stream(
        mapped(lambda leaf: [leaf[0]] * leaf[1], tree, depth), depth + 1
    )


def test_a_token_a_cycle():
    ref = parse_stream("1 2 3 4 5 S0 D")
    got = run(ref, parse_stream("0 0 S0 S0 S0 0 S0 S1 D"))
    assert format_stream(got["out_ref"]) == "1 1 S0 S0 S0 4 S0 S1 D"
    assert got["cycles"] == [9]


@pytest.mark.parametrize("repsig, given", [("0 0 S0", "7 7 S0"), ("0 S2", "7 S2"), ("S1", "S1")])
def test_a_fiber_ends_without_the_next_reference(repsig, given):
    with pytest.raises(AssertionError, match="not done after 9 cycles") as caught:
        run(parse_stream("7"), parse_stream(repsig), cycles=9)
    assert f"{{'out_ref': {parse_stream(given)}}}" in str(caught.value)


@pytest.mark.parametrize(
    "ref, repsig",
    [
        ("S0 D", "0 S0 D"),
        ("1 S0 D", "0 D"),
        ("D", "S0 D"),
        ("1 S0 D", "0 S0 D"),
        ("1 S0 D", "0 S2 D"),
        ("1 2 S0 D", "0 S1 0 S1 D"),
        ("1 S0 2 S0 D", "0 S0 0 S1 D"),
        ("S0 D", "S0 D"),
        ("S0 D", "S2 D"),
    ],
)
def test_a_fault_where_references_and_signals_disagree(ref, repsig):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(parse_stream(ref), parse_stream(repsig), cycles=20)

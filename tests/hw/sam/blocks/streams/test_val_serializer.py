from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.streams.parallelizer import Parallelizer
from gnarl.hw.sam.blocks.streams.val_serializer import ValSerializer
from gnarl.hw.sam.token import Kind
from tests.support.sam.nested import depths, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, kind_of, parse_stream


def run(crd, lanes, **how):
    inputs = {"crd": crd, **{f"i{lane}": tokens for lane, tokens in enumerate(lanes)}}
    return run_block(ValSerializer(8, 8, len(lanes)), inputs, ["out_val"], **how)


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(
    "crd, lanes, expected",
    [
        ("0 5 9 S0 S0 2 S1 D", ("1 3 S0 4 S1 D", "2 0 S0 D"), "1 2 3 S0 S0 4 S1 D"),
        ("0 S1 D", ("1 S1 D", "D"), "1 S1 D"),
        ("S0 S0 S1 D", ("S0 S1 D", "S0 D"), "S0 S0 S1 D"),
        ("D", ("D", "D", "D"), "D"),
    ],
)
def test_values_in_turn(crd, lanes, expected, share):
    got = run(parse_stream(crd), [parse_stream(tokens) for tokens in lanes], stalls=share)
    assert format_stream(got["out_val"]) == expected


@settings(max_examples=20)
@given(st.data(), depths(0, 3), st.integers(2, 5), stalls())
def test_restores_what_was_dealt_out(data, depth, lanes, how):
    """Each lane has a value of its own for the empty tokens that it is dealt."""
    below = data.draw(st.lists(words(8, empty=False), min_size=4, max_size=4))
    tree = data.draw(trees(depth, words(2, empty=False)))
    crd = stream(tree, depth)
    outputs = [f"o{lane}" for lane in range(lanes)]
    dealt = run_block(Parallelizer(8, lanes), {"i": crd}, outputs, **how)
    values = [
        [
            below[token] if kind_of(token) == Kind.DATA else 0 if is_empty(token) else token
            for token in dealt[name]
        ]
        for name in outputs
    ]
    got = run(crd, values, **how)
    assert got["out_val"] == stream(mapped(below.__getitem__, tree, depth), depth)
    if how["stalls"] == 0:
        dropped = sum(is_empty(token) for name in outputs for token in dealt[name])
        assert got["cycles"] == [len(crd) + dropped]


def is_empty(token):
    return kind_of(token) == Kind.EMPTY


@pytest.mark.parametrize(
    "crd, lanes",
    [
        ("0 1 S0 D", ("1 D", "S0 D")),
        ("0 1 S0 D", ("1 D", "2 S1 D")),
        ("0 1 S0 D", ("1 D", "2 3 S0 D")),
        ("0 S0 D", ("1 S0 D", "2 S0 D")),
        ("S0 D", ("D", "D")),
    ],
)
def test_a_fault_where_a_lane_has_something_else(crd, lanes):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(parse_stream(crd), [parse_stream(tokens) for tokens in lanes], cycles=20)

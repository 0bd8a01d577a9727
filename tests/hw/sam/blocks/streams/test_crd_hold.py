from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.streams.crd_hold import CrdHold
from tests.support.sam.nested import (
    LEVELS_THAT_DISAGREE,
    depths,
    mapped,
    stalls,
    stream,
    trees,
    words,
)
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream

OUTPUTS = ["out_outer", "out_inner"]


def run(outer, inner, **how):
    return run_block(CrdHold(8), {"outer": outer, "inner": inner}, OUTPUTS, **how)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_example_of_the_sam_tools(share):
    inner = "0 2 S0 S0 2 S1 D"
    got = run(parse_stream("0 1 2 S0 D"), parse_stream(inner), stalls=share)
    assert format_stream(got["out_outer"]) == "0 0 S0 S0 2 S1 D"
    assert format_stream(got["out_inner"]) == inner


@settings(max_examples=20)
@given(st.data(), depths(1, 3), stalls())
def test_a_coordinate_for_every_inner_one(data, depth, how):
    leaf = st.tuples(words(8, empty=False), st.lists(words(8), max_size=3))
    tree = data.draw(trees(depth, leaf))
    outer = stream(mapped(lambda leaf: leaf[0], tree, depth), depth)
    inner = stream(mapped(lambda leaf: leaf[1], tree, depth), depth + 1)
    got = run(outer, inner, **how)
    held = mapped(lambda leaf: [leaf[0]] * len(leaf[1]), tree, depth)
    assert got["out_outer"] == stream(held, depth + 1)
    assert got["out_inner"] == inner


def test_as_many_cycles_as_inner_tokens():
    tree = [[(crd, list(range(crd % 4))) for crd in range(start, start + 5)] for start in range(4)]
    outer = stream(mapped(lambda leaf: leaf[0], tree, 2), 2)
    inner = stream(mapped(lambda leaf: leaf[1], tree, 2), 3)
    assert run(outer, inner)["cycles"] == [len(inner)]


@pytest.mark.parametrize("outer, inner", LEVELS_THAT_DISAGREE)
def test_a_fault_where_levels_disagree(outer, inner):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(parse_stream(outer), parse_stream(inner), cycles=20)

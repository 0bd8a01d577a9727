from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.streams.crd_drop import CrdDrop
from gnarl.hw.sam.token import DONE, stop
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
    return run_block(CrdDrop(6, 8), {"outer": outer, "inner": inner}, OUTPUTS, **how)


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(
    "outer, inner, expected",
    [
        ("0 1 2 3 S0 D", "1 S0 1 S0 S0 1 S1 D", "0 1 3 S0 D"),
        ("0 S0 S0 4 5 S1 D", "7 S1 S1 S0 8 S2 D", "0 S0 S0 5 S1 D"),
        ("0 1 S0 D", "N S0 S1 D", "0 S0 D"),  # an empty token counts as data
    ],
)
def test_examples_of_the_sam_tools(outer, inner, expected, share):
    got = run(parse_stream(outer), parse_stream(inner), stalls=share)
    assert format_stream(got["out_outer"]) == expected
    assert format_stream(got["out_inner"]) == inner


@settings(max_examples=20)
@given(st.data(), depths(1, 3), stalls())
def test_coordinates_with_tokens_in_their_fibers(data, depth, how):
    leaf = st.tuples(words(6, empty=False), st.lists(words(8), max_size=3))
    tree = data.draw(trees(depth, leaf))
    outer = stream(mapped(lambda leaf: leaf[0], tree, depth), depth)
    inner = stream(mapped(lambda leaf: leaf[1], tree, depth), depth + 1)
    got = run(outer, inner, **how)

    def kept(fiber):
        return [crd for crd, inside in fiber if inside]

    assert got["out_outer"] == stream(mapped(kept, tree, depth - 1), depth)
    assert got["out_inner"] == inner


def test_as_many_cycles_as_inner_tokens():
    tree = [[(crd, list(range(crd % 4))) for crd in range(start, start + 5)] for start in range(4)]
    outer = stream(mapped(lambda leaf: leaf[0], tree, 2), 2)
    inner = stream(mapped(lambda leaf: leaf[1], tree, 2), 3)
    assert run(outer, inner)["cycles"] == [len(inner)]
    assert run([0, stop(0), DONE], [*range(9), stop(1), DONE])["cycles"] == [11]


@pytest.mark.parametrize("outer, inner", LEVELS_THAT_DISAGREE)
def test_a_fault_where_levels_disagree(outer, inner):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(parse_stream(outer), parse_stream(inner), cycles=20)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.lookups.array_vals import ArrayVals
from gnarl.hw.sam.token import EMPTY
from tests.support.sam.nested import depths, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream

VALUES = [[10 + row] for row in range(16)]


def run(refs, **arguments):
    memories = {"mem_vals": VALUES}
    block = ArrayVals(8, 32, len(VALUES))
    return run_block(block, {"ref": refs}, ["out_val"], memories=memories, **arguments)


def test_a_token_a_cycle_after_the_memory():
    got = run(parse_stream("0 N 2 S0 S1 D"))
    assert format_stream(got["out_val"]) == "10 0 12 S0 S1 D"
    assert got["cycles"] == [1 + 6]


def test_what_reads_nothing_does_not_wait():
    assert run(parse_stream("N S0 S1 D"))["cycles"] == [4]


@pytest.mark.parametrize("latency", [2, 4, 7])
def test_a_token_a_cycle_at_any_latency(latency):
    refs = parse_stream("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 S0 D")
    assert run(refs, latency=latency)["cycles"] == [latency + len(refs)]


@example_settings(max_examples=10)
@given(st.data())
def test_any_nested_stream(data):
    depth = data.draw(depths(0))
    tree = data.draw(trees(depth, words(4)))
    latency = data.draw(st.sampled_from([1, 1, 3]))
    got = run(stream(tree, depth), latency=latency, **data.draw(stalls()))
    values = mapped(lambda ref: 0 if ref == EMPTY else 10 + ref, tree, depth)
    assert got["out_val"] == stream(values, depth)


def test_a_reference_beyond_the_array_is_a_fault():
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(parse_stream("15 16 S0 D"))

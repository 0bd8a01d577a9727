from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.joins.union import Union
from gnarl.hw.sam.token import EMPTY
from tests.support.sam.nested import (
    LANES_THAT_DISAGREE,
    depths,
    lane_streams,
    lanes,
    mapped,
    stalls,
    stream,
    trees,
)
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream

INPUTS = ("crd0", "ref0", "crd1", "ref1")
OUTPUTS = ("out_crd", "out_ref0", "out_ref1")


def run(streams, **how):
    return run_block(Union(6, 8, 5), dict(zip(INPUTS, streams, strict=True)), OUTPUTS, **how)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_example_of_the_sam_tools(share):
    streams = [parse_stream(text) for text in ("0 2 4 S0 D", "0 1 2 S0 D", "2 3 S0 D", "0 1 S0 D")]
    got = run(streams, stalls=share)
    assert [format_stream(got[name]) for name in OUTPUTS] == [
        "0 2 3 4 S0 D",
        "0 1 N 2 S0 D",
        "N 0 1 N S0 D",
    ]


@settings(max_examples=12)
@given(st.data(), depths(), stalls())
def test_coordinates_of_either_fiber(data, depth, how):
    tree = data.draw(trees(depth - 1, st.tuples(lanes(6, 8), lanes(6, 5))))
    got = run(lane_streams(tree, depth), **how)

    def either(give):
        def merged(pair):
            return [give(pair, crd) for crd in sorted({*pair[0], *pair[1]})]

        return stream(mapped(merged, tree, depth - 1), depth)

    assert got["out_crd"] == either(lambda pair, crd: crd)
    assert got["out_ref0"] == either(lambda pair, crd: pair[0].get(crd, EMPTY))
    assert got["out_ref1"] == either(lambda pair, crd: pair[1].get(crd, EMPTY))
    if how["stalls"] == 0:
        assert got["cycles"] == [len(got["out_crd"])]


@pytest.mark.parametrize("streams", LANES_THAT_DISAGREE)
def test_a_fault_where_streams_disagree(streams):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run([parse_stream(text) for text in streams], cycles=20)

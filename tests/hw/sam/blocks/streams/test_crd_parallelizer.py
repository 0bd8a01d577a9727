from __future__ import annotations

from operator import itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.block_types import SUM_LANES
from gnarl.hw.sam.blocks.streams.crd_parallelizer import CrdParallelizer
from gnarl.hw.sam.token import EMPTY
from tests.support.sam.nested import depths, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream


def run(lanes, crd, i, **how):
    outputs = [f"o{lane}" for lane in range(lanes)]
    return run_block(CrdParallelizer(6, 8, lanes), {"crd": crd, "i": i}, outputs, **how)


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(
    "crd, i, expected",
    [
        ("4 7 9 S0 S0 D", "0 1 2 S0 S0 D", ["0 S0 S0 D", "1 2 S0 S0 D"]),
        ("0 2 S0 1 3 S1 D", "5 6 S0 7 8 S1 D", ["5 6 S0 S1 D", "S0 7 8 S1 D"]),
        ("1 2 S0 D", "N 6 S0 D", ["6 S0 D", "N S0 D"]),
        ("N 3 N S0 D", "5 6 N S0 D", ["5 N S0 D", "6 S0 D"]),
        ("3 D", "9 D", ["D", "9 D"]),
        ("S2 D", "S2 D", ["S2 D", "S2 D"]),
        ("D", "D", ["D", "D"]),
    ],
)
def test_two_lanes(crd, i, expected, share):
    got = run(2, parse_stream(crd), parse_stream(i), stalls=share, cycles=200)
    assert [format_stream(got[name]) for name in ("o0", "o1")] == expected


@pytest.mark.parametrize("lanes", SUM_LANES)
@settings(max_examples=15)
@given(data=st.data(), depth=depths(), how=stalls())
def test_each_lane_has_its_own_coordinates_of_every_fiber(lanes, data, depth, how):
    tree = data.draw(trees(depth, st.tuples(words(6), words(8))))
    crd, i = (stream(mapped(itemgetter(at), tree, depth), depth) for at in range(2))
    got = run(lanes, crd, i, **how)

    def own(lane):
        def of(fiber):
            return [token for crd, token in fiber if (0 if crd == EMPTY else crd) % lanes == lane]

        return stream(mapped(of, tree, depth - 1), depth)

    for lane in range(lanes):
        assert got[f"o{lane}"] == own(lane)
    if how["stalls"] == 0:
        assert got["cycles"] == [len(crd)]


@pytest.mark.parametrize(
    "crd, i",
    [
        ("1 S0 D", "S0 D"),
        ("S0 D", "N S0 D"),
        ("1 S0 D", "1 S1 D"),
        ("1 2 S0 D", "1 S0 2 S0 D"),
        ("1 S0 D", "1 D"),
        ("D", "1 D"),
        ("N D", "D"),
    ],
)
def test_a_fault_where_streams_disagree(crd, i):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(2, parse_stream(crd), parse_stream(i), cycles=20)

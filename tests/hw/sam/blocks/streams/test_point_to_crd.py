from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.streams.point_to_crd import PointToCrd
from gnarl.hw.sam.token import DONE
from tests.support.sam.nested import stalls, stream
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream

OUTPUTS = ["out_outer", "out_inner"]


def run(outer, inner, **how):
    return run_block(PointToCrd(4), {"outer": outer, "inner": inner}, OUTPUTS, **how)


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(
    "points, expected",
    [
        (("0 0 1 1 2 D", "3 4 1 2 0 D"), ["0 1 2 S0 D", "3 4 S0 1 2 S0 0 S1 D"]),
        (("D", "D"), ["S0 D", "S1 D"]),
    ],
)
def test_examples_of_the_sam_tools_and_no_points(points, expected, share):
    got = run(*map(parse_stream, points), stalls=share)
    assert [format_stream(got[name]) for name in OUTPUTS] == expected


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 15)), max_size=20), stalls())
def test_a_fiber_for_every_run_of_an_outer_coordinate(points, how):
    got = run([*(point[0] for point in points), DONE], [*(p[1] for p in points), DONE], **how)
    runs = [(outer, [p[1] for p in run]) for outer, run in groupby(points, lambda p: p[0])]
    assert got["out_outer"] == stream([outer for outer, _ in runs], 1)
    assert got["out_inner"] == stream([inner for _, inner in runs], 2)
    if how["stalls"] == 0:
        assert got["cycles"] == [len(got["out_inner"])]


@pytest.mark.parametrize("outer, inner", [("0 D", "1 S0 D"), ("S0 D", "S0 D"), ("0 D", "D")])
def test_a_fault_where_the_streams_are_not_points(outer, inner):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(parse_stream(outer), parse_stream(inner), cycles=20)

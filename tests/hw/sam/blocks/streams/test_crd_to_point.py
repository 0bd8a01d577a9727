from __future__ import annotations

import pytest
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.streams.crd_to_point import CrdToPoint
from gnarl.hw.sam.token import DONE, Kind
from tests.support.sam.nested import depths, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream

OUTPUTS = ["out_outer", "out_inner"]


def run(outer, inner, **how):
    return run_block(CrdToPoint(8), {"outer": outer, "inner": inner}, OUTPUTS, **how)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_hold_and_stop_drop_of_the_sam_tools(share):
    got = run(parse_stream("0 1 2 S0 D"), parse_stream("0 2 S0 S0 2 S1 D"), stalls=share)
    assert format_stream(got["out_outer"]) == "0 0 2 D"
    assert format_stream(got["out_inner"]) == "0 2 2 D"


@settings(max_examples=20)
@given(st.data(), depths(1, 3), stalls())
def test_a_point_for_every_inner_coordinate(data, depth, how):
    points = []

    def noted(leaf):
        points.extend((leaf[0], inner) for inner in leaf[1])
        return leaf[1]

    crd = words(8, empty=False)
    tree = data.draw(trees(depth, st.tuples(crd, st.lists(crd, max_size=3))))
    outer = stream(mapped(lambda leaf: leaf[0], tree, depth), depth)
    inner = stream(mapped(noted, tree, depth), depth + 1)
    got = run(outer, inner, **how)
    assert got["out_outer"] == [*(point[0] for point in points), DONE]
    assert got["out_inner"] == [*(point[1] for point in points), DONE]


def test_as_many_cycles_as_inner_tokens():
    got = run(parse_stream("0 1 2 S0 D"), parse_stream("0 1 2 3 S0 4 5 6 S0 7 8 9 S1 D"))
    assert got["cycles"] == [14]


def test_a_fault_where_levels_disagree():
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(parse_stream("S0 D"), parse_stream("1 S1 D"), cycles=20)


def test_stops_go_though_nobody_is_ready_for_points():
    block = CrdToPoint(8)

    async def bench(ctx):
        for crd, level in ((block.outer, 0), (block.inner, 1)):
            ctx.set(crd.payload, {"kind": Kind.STOP, "payload": level})
            ctx.set(crd.valid, 1)
        assert ctx.get(block.outer.ready) and ctx.get(block.inner.ready)
        assert not ctx.get(block.out_outer.valid) and not ctx.get(block.out_inner.valid)

    simulator = Simulator(block)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()

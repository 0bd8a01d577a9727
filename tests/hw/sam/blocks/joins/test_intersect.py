from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.joins.intersect import Intersect
from gnarl.hw.sam.token import DONE, Kind
from tests.support.sam.nested import (
    LANES_THAT_DISAGREE,
    depths,
    fibers,
    lane_streams,
    lanes,
    mapped,
    stalls,
    stream,
    trees,
)
from tests.support.sam.streams import run_block, width_of
from tests.support.sam.tokens import format_stream, kind_of, pack, parse_stream, payload_of

INPUTS = ("crd0", "ref0", "crd1", "ref1")
OUTPUTS = ("out_crd", "out_ref0", "out_ref1")
WIDTHS = (6, 8, 5)


def run(streams, **how):
    return run_block(Intersect(*WIDTHS), dict(zip(INPUTS, streams, strict=True)), OUTPUTS, **how)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_example_of_the_sam_tools(share):
    streams = [parse_stream(text) for text in ("0 2 4 S0 D", "0 1 2 S0 D", "2 3 S0 D", "0 1 S0 D")]
    got = run(streams, stalls=share)
    assert [format_stream(got[name]) for name in OUTPUTS] == ["2 S0 D", "1 S0 D", "0 S0 D"]


@settings(max_examples=12)
@given(st.data(), depths(), stalls())
def test_coordinates_of_both_fibers(data, depth, how):
    tree = data.draw(trees(depth - 1, st.tuples(lanes(6, 8), lanes(6, 5))))
    streams = lane_streams(tree, depth)
    got = run(streams, **how)

    def both(give):
        def common(pair):
            return [give(pair, crd) for crd in pair[0] if crd in pair[1]]

        return stream(mapped(common, tree, depth - 1), depth)

    assert got["out_crd"] == both(lambda pair, crd: crd)
    assert got["out_ref0"] == both(lambda pair, crd: pair[0][crd])
    assert got["out_ref1"] == both(lambda pair, crd: pair[1][crd])
    if how["stalls"] == 0:
        # SAM's cost of a pair of fibers, stop included, is |a| + |b| - matches + 1.
        everything = zip(
            fibers(streams[0]), fibers(streams[2]), fibers(got["out_crd"]), strict=True
        )
        assert got["cycles"][0] <= 1 + sum(len(a) + len(b) - len(c) for a, b, c in everything)


@pytest.mark.parametrize(
    "first, second, cycles",
    [
        (range(0, 40, 2), range(1, 40, 2), 20 + 2 + 2),  # two until it sees a token ahead
        (range(20), range(20), 20 + 2),
        (range(0, 40, 2), range(40), 40 + 2),
    ],
)
def test_a_pair_of_fibers_costs_about_as_much_as_the_longer_one(first, second, cycles):
    tree = [dict.fromkeys(fiber, 1) for fiber in (first, second)]
    got = run(lane_streams(tree, 1))
    assert got["cycles"][0] <= cycles


def test_a_pair_of_fibers_without_matches_may_end_with_both_dropped():
    tree = [({2 * place: 0}, {2 * place + 1: 0}) for place in range(20)]
    got = run(lane_streams(tree, 2))
    assert got["cycles"][0] <= 20 * 2 + 1 + 1  # a cycle more for the first pair, one for done


def test_a_stream_with_itself():
    left = parse_stream("1 2 S0 5 S1 D")
    got = run([left, left, left, left], stalls=0.5)
    assert format_stream(got["out_crd"]) == "1 2 S0 5 S1 D"


def hints(streams, share):
    """Every different hint that was seen, in order, by name."""
    noise = random.Random(1)
    block = Intersect(*WIDTHS)
    seen: dict[str, list[tuple[int, int, int]]] = {"hint0": [], "hint1": []}

    async def bench(ctx: Any) -> None:
        left = {name: list(tokens) for name, tokens in zip(INPUTS, streams, strict=True)}
        offered = dict.fromkeys(left, False)
        for _ in range(1000):
            for name, tokens in left.items():
                stream = getattr(block, name)
                offered[name] = bool(tokens) and (offered[name] or noise.random() >= share)
                ctx.set(stream.valid, offered[name])
                if offered[name]:
                    bits = pack(tokens[0], width_of(stream))
                    ctx.set(stream.payload.as_value(), bits)
            for name in OUTPUTS:
                ctx.set(getattr(block, name).ready, noise.random() >= share)
            for name in INPUTS:
                if offered[name] and ctx.get(getattr(block, name).ready):
                    del left[name][0]
                    offered[name] = False
            for name, found in seen.items():
                hint = getattr(block, name)
                if ctx.get(hint.valid):
                    entry = (ctx.get(hint.fiber), ctx.get(hint.stop), ctx.get(hint.crd))
                    entry = entry[:2] if entry[1] else entry
                    if entry not in found[-1:]:
                        found.append(entry)
            await ctx.tick()

    simulator = Simulator(block)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def hints_of(crds):
    found, number = [], 0
    for token in crds:
        if kind_of(token) == Kind.DATA:
            found.append((number, 0, payload_of(token)))
        elif kind_of(token) == Kind.STOP:
            found.append((number, 1))
            number += 1
    assert crds[-1] == DONE
    return found


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_hints_tell_each_lane_what_the_other_one_is_at(share):
    crd0 = parse_stream("1 3 4 9 S0 S0 2 7 S1 S0 5 S2 D")
    crd1 = parse_stream("3 20 S0 4 S0 7 8 S1 1 S0 S2 D")
    found = hints([crd0, crd0, crd1, crd1], share)
    assert found == {"hint0": hints_of(crd1), "hint1": hints_of(crd0)}


@pytest.mark.parametrize("streams", LANES_THAT_DISAGREE)
def test_a_fault_where_streams_disagree(streams):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run([parse_stream(text) for text in streams], cycles=20)

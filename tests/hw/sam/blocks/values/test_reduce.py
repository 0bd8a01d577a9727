from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.formats import parse_format
from gnarl.hw.sam.block_types import REDUCTIONS as OF_GRAPHS
from gnarl.hw.sam.blocks.values.interleaved_sums import WAITING_TOKENS
from gnarl.hw.sam.blocks.values.reduce import REDUCTIONS, Reduce
from gnarl.hw.sam.token import DONE, stop
from gnarl.sw.golden.arithmetic import arithmetic
from tests.support.sam.nested import depths, fibers, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream, payload_of

FORMATS = st.sampled_from(["float8_e4m3", "fixed8.3"])
STAGES = pytest.mark.parametrize("stages", [1, 2, 5])


def run(format, op, val, crd=None, stages=1, **how):
    block = Reduce(parse_format(format), op, None if crd is None else 6, stages)
    inputs = {"val": val} | ({} if crd is None else {"crd": crd})
    return run_block(block, inputs, ["out_val"], **how)


def reduced(format, op, values):
    """From the first value on, in order; 0 of none; the payload of an empty token is the word 0."""
    golden = arithmetic(format)

    def put(left, right):
        pair = (golden.numbers(np.array([word], np.uint32)) for word in (left, right))
        return int(golden.words(golden.apply(REDUCTIONS[op], *pair))[0])

    return reduce(put, map(payload_of, values)) if values else 0


def test_all_reductions_of_graphs_are_there():
    assert tuple(REDUCTIONS) == OF_GRAPHS


@STAGES
@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(
    "val, expected",
    [
        ("1 2 S0 S0 3 S1 4 S2 D", "3 0 3 S0 4 S1 D"),
        ("1 S1 S1 D", "1 S0 0 S0 D"),
        ("S0 D", "0 D"),
        ("1 2 3 S0 D", "6 D"),
        ("D", "D"),
    ],
)
def test_examples_of_the_sam_tools(val, expected, share, stages):
    got = run("fixed8.0", "add", parse_stream(val), stages=stages, stalls=share)
    assert format_stream(got["out_val"]) == expected


@STAGES
@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(
    "crd, val, expected",
    [
        ("S0 D", "S1 D", "S0 D"),
        ("5 S0 D", "S1 D", "0 S0 D"),
        ("5 S0 S0 D", "1 S1 S1 D", "1 S0 S0 D"),
        ("5 S0 7 S1 S0 8 9 S2 D", "1 S1 S2 S1 2 S0 S3 D", "1 S0 0 S1 S0 2 0 S2 D"),
    ],
)
def test_coordinates_say_how_many_values_are_owed(crd, val, expected, share, stages):
    got = run("fixed8.0", "add", parse_stream(val), parse_stream(crd), stages, stalls=share)
    assert format_stream(got["out_val"]) == expected


@settings(max_examples=20)
@given(st.data(), FORMATS, st.sampled_from(OF_GRAPHS), st.integers(1, 8), depths(), stalls())
def test_a_value_for_every_stop(data, format, op, stages, depth, how):
    val = stream(data.draw(trees(depth, words(8))), depth)
    got = run(format, op, val, stages=stages, **how)
    expected = []
    for *values, end in fibers(val):
        level = payload_of(end)
        expected += [reduced(format, op, values)] + [stop(level - 1)] * (level > 0)
    assert got["out_val"] == [*expected, DONE]


@settings(max_examples=20)
@given(st.data(), FORMATS, st.sampled_from(OF_GRAPHS), st.integers(1, 8), depths(1, 3), stalls())
def test_a_value_for_every_coordinate(data, format, op, stages, depth, how):
    tree = data.draw(trees(depth, st.tuples(words(6), st.lists(words(8), max_size=4))))
    val = stream(mapped(lambda leaf: leaf[1], tree, depth), depth + 1)
    crd = stream(mapped(lambda leaf: leaf[0], tree, depth), depth)
    got = run(format, op, val, crd, stages, **how)
    sums = mapped(lambda leaf: reduced(format, op, leaf[1]), tree, depth)
    assert got["out_val"] == stream(sums, depth)
    if how["stalls"] == 0 and stages == 1:
        # A cycle more than tokens only where a sum and the stop after it are followed by a stop.
        ends = [payload_of(end) for *_, end in fibers(val)]
        assert got["cycles"][0] <= len(val) + sum(level > 0 for level in ends)


@pytest.mark.parametrize("crd", [None, "0 1 S0 2 3 S0 4 5 S1 D"])
def test_a_value_a_cycle(crd):
    val = parse_stream("1 2 S0 3 S1 4 S0 5 6 S1 7 S0 8 S2 D")
    got = run("float32", "max", val, crd and parse_stream(crd))
    assert format_stream(got["out_val"]) == "2 3 S0 4 6 S0 7 8 S1 D"
    assert got["cycles"] == [len(val) + 1]  # the last stop and done do not fit into one


def sum_of_fibers(stages, fibers, length):
    """Cycles for so many fibers of so many values."""
    val = [*[*range(length), stop(0)] * (fibers - 1), *range(length), stop(0), DONE]
    got = run("fixed16.0", "add", val, stages=stages)
    assert got["out_val"] == [length * (length - 1) // 2] * fibers + [DONE]
    return got["cycles"][0]


@pytest.mark.parametrize("stages", [2, 4, 7])
def test_several_fibers_are_summed_at_a_time(stages):
    fibers, length = 20, 15
    tokens = fibers * (length + 1)
    assert tokens <= sum_of_fibers(stages, fibers, length) <= tokens + stages * (length + 4)


@pytest.mark.parametrize("stages", [2, 4, 7])
def test_a_long_fiber_takes_the_stages_of_the_adder_for_each_value(stages):
    length = 40
    assert 0 <= sum_of_fibers(stages, 1, length) - stages * length <= 3 * stages


def test_as_much_waits_as_fits():
    """What does not fit takes the stages of the adder for each value, while later fibers wait."""
    stages, fibers = 4, 6
    fits, twice = (sum_of_fibers(stages, fibers, size * WAITING_TOKENS) for size in (1, 2))
    last_alone = stages * WAITING_TOKENS
    assert fits <= fibers * (WAITING_TOKENS + 1) + last_alone
    assert twice - fits >= (fibers - 1) * stages * 0.8 * WAITING_TOKENS


@STAGES
def test_the_first_value_of_a_fiber_is_copied(stages):
    """Minus zero stays what it is: it is not added to plus zero."""
    got = run("float32", "add", parse_stream(f"{1 << 31} S0 D"), stages=stages)
    assert got["out_val"] == [1 << 31, DONE]


@STAGES
@pytest.mark.parametrize(
    "val, crd",
    [
        ("1 S1 D", "S0 D"),  # values that nobody owns
        ("S2 D", "S0 D"),
        ("1 S2 D", "5 S0 D"),
        ("1 S1 D", "5 6 S0 D"),
        ("1 S0 2 S1 D", "5 S0 D"),
        ("D", "S0 D"),
        ("1 S0 D", "D"),
        ("1 S1 D", "5 D"),
    ],
)
def test_a_fault_where_values_and_coordinates_disagree(val, crd, stages):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run("fixed8.0", "add", parse_stream(val), parse_stream(crd), stages, cycles=20)

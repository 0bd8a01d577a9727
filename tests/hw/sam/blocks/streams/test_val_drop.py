from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.formats import parse_format
from gnarl.hw.sam.blocks.streams.val_drop import ValDrop
from gnarl.hw.sam.token import EMPTY
from tests.support.sam.nested import depths, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream

OUTPUTS = ["out_crd", "out_val"]
MINUS = 1 << 7
"""The bit that alone is -0 in a float of 8 bits, and -8 in ``fixed8.4``."""


def run(format, crd, val, **how):
    block = ValDrop(6, parse_format(format))
    return run_block(block, {"crd": crd, "val": val}, OUTPUTS, **how)


@pytest.mark.parametrize(
    "format, kept", [("float8_e4m3", ["2 S0 S0 3 S1 D"]), ("fixed8.4", ["1 2 S0 S0 3 S1 D"])]
)
def test_both_zeros_of_floats_go_and_stops_pass(format, kept):
    crd = parse_stream("0 1 2 S0 4 S0 3 S1 D")
    val = parse_stream(f"0 {MINUS} 129 S0 N S0 1 S1 D")
    got = run(format, crd, val)
    assert [format_stream(got["out_crd"])] == kept


@settings(max_examples=20)
@given(st.data(), depths(), st.sampled_from(["float8_e5m2", "fixed8.0"]), stalls())
def test_pairs_whose_value_is_not_zero(data, depth, format, how):
    zeros = [0, EMPTY, MINUS] if "float" in format else [0, EMPTY]
    val = st.one_of(st.sampled_from([0, EMPTY, MINUS]), words(8))
    tree = data.draw(trees(depth, st.tuples(words(6, empty=False), val)))
    inputs = [stream(mapped(lambda pair: pair[0], tree, depth), depth)]
    inputs.append(stream(mapped(lambda pair: pair[1], tree, depth), depth))
    got = run(format, *inputs, **how)

    def kept(part):
        def of(fiber):
            return [pair[part] for pair in fiber if pair[1] not in zeros]

        return stream(mapped(of, tree, depth - 1), depth)

    assert got["out_crd"] == kept(0)
    assert got["out_val"] == kept(1)
    if how["stalls"] == 0:
        assert got["cycles"] == [len(inputs[0])]


@pytest.mark.parametrize("crd, val", [("1 S0 D", "S0 D"), ("1 S0 D", "1 S1 D"), ("D", "S0 D")])
def test_a_fault_where_streams_disagree(crd, val):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run("fixed8.0", parse_stream(crd), parse_stream(val), cycles=20)

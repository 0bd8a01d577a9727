# amaranth: UnusedElaboratable=no
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.formats import parse_format
from gnarl.hw.lib.functions.function import Function
from gnarl.hw.sam.block_types import FUNCTIONS
from gnarl.hw.sam.blocks.values.function_block import FunctionBlock
from gnarl.hw.sam.token import EMPTY, Kind
from tests.support.sam.nested import depths, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, kind_of, parse_stream


def run(block, val, **how):
    return run_block(block, {"val": val}, ["out_val"], **how)


def float16(*numbers):
    return [int(word) for word in np.array(numbers, np.float16).view(np.uint16)]


@pytest.mark.parametrize("op", FUNCTIONS)
def test_every_function_of_graphs_is_there(op):
    block = FunctionBlock(parse_format("float8_e4m3"), op)
    assert Function.__members__.keys() == {name.upper() for name in FUNCTIONS}
    got = run(block, parse_stream("0 N S0 0 S2 D"))
    of_zero = {"exp": 1.0, "reciprocal": np.inf, "sigmoid": 0.5, "log": -np.inf}.get(op, 0.0)
    word = FLOAT8[of_zero]
    assert format_stream(got["out_val"]) == f"{word} {word} S0 {word} S2 D"


FLOAT8 = {0.0: 0x00, 0.5: 0x30, 1.0: 0x38, np.inf: 0x78, -np.inf: 0xF8}
"""Words of IEEE style with 4 bits of exponent and 3 of fraction."""


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_reciprocals(share):
    values, results = float16(2.0, -0.25, 1.0), float16(0.5, -4.0, 1.0)
    text = "{} S0 {} S0 S1 {} S2 D"
    got = run(
        FunctionBlock(parse_format("float16"), "reciprocal"),
        parse_stream(text.format(*values)),
        stalls=share,
    )
    assert format_stream(got["out_val"]) == text.format(*results)


@settings(max_examples=15)
@given(st.data(), depths(0), stalls())
def test_any_stream(data, depth, how):
    val = stream(data.draw(trees(depth, words(8))), depth)
    block = FunctionBlock(parse_format("fixed8.3"), "relu")
    got = run(block, val, **how)

    def expected(token):
        if token == EMPTY:
            return 0
        return 0 if kind_of(token) == Kind.DATA and token >= 128 else token

    assert got["out_val"] == [expected(token) for token in val]
    if how["stalls"] == 0:
        assert got["cycles"] == [len(val) + FunctionBlock.latency("relu")]


def test_no_function_of_fixed_point_but_relu():
    with pytest.raises(ValueError, match="fixed point has only RELU"):
        FunctionBlock(parse_format("fixed8.3"), "exp")

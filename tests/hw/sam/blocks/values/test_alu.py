from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.formats import parse_format
from gnarl.hw.sam.block_types import ALU_OPERATIONS
from gnarl.hw.sam.blocks.values.alu import OPERATIONS, Alu
from gnarl.hw.sam.token import DONE, EMPTY, Kind
from gnarl.sw.golden.arithmetic import arithmetic
from tests.support.sam.nested import depths, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, kind_of, parse_stream, payload_of


def run(alu, val0, val1, **how):
    return run_block(alu, {"val0": val0, "val1": val1}, ["out_val"], **how)


def expected(format, op, val0, val1):
    """Token by token; the payload of an empty one is the word 0."""
    golden = arithmetic(format)
    left, right = (
        golden.numbers(np.array([payload_of(token) for token in val], np.uint32))
        for val in (val0, val1)
    )
    results = golden.words(golden.apply(OPERATIONS[op], left, right))
    is_data = [kind_of(token) in (Kind.DATA, Kind.EMPTY) for token in val0]
    return [
        int(result) if data else token
        for result, data, token in zip(results, is_data, val0, strict=True)
    ]


def test_all_operations_of_graphs_are_there():
    assert tuple(OPERATIONS) == ALU_OPERATIONS


@settings(max_examples=20)
@given(
    st.data(),
    st.sampled_from(["float8_e4m3", "fixed8.3"]),
    st.sampled_from(ALU_OPERATIONS),
    st.integers(1, 4),
    depths(0),
    stalls(),
)
def test_any_streams(data, format, op, stages, depth, how):
    tree = data.draw(trees(depth, st.tuples(words(8), words(8))))
    vals = [stream(mapped(lambda pair: pair[0], tree, depth), depth)]
    vals.append(stream(mapped(lambda pair: pair[1], tree, depth), depth))
    alu = Alu(parse_format(format), stages, op)
    got = run(alu, *vals, **how)
    assert got["out_val"] == expected(format, op, *vals)
    if how["stalls"] == 0:
        assert got["cycles"] == [len(vals[0]) + stages]


@pytest.mark.parametrize("op", ALU_OPERATIONS)
def test_an_operation_set_from_outside(op):
    val0 = [*range(0, 256, 23), EMPTY, DONE]
    val1 = [*range(255, 0, -23), 100, DONE]
    alu = Alu(parse_format("float8_e5m2"), 1, None)
    got = run(alu, val0, val1, settings={"operation": OPERATIONS[op].value})
    assert got["out_val"] == expected("float8_e5m2", op, val0, val1)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_floats(share):
    words_of = {name: int(np.float32(name).view(np.uint32)) for name in ("1.5", "-0.25", "1.25")}
    val0 = parse_stream(f"{words_of['1.5']} S0 N S1 D")
    val1 = parse_stream(f"{words_of['-0.25']} S0 {words_of['1.25']} S1 D")
    got = run(Alu(parse_format("float32"), 3, "add"), val0, val1, stalls=share)
    assert format_stream(got["out_val"]) == f"{words_of['1.25']} S0 {words_of['1.25']} S1 D"


@pytest.mark.parametrize(
    "val0, val1", [("1 S0 D", "S0 D"), ("S0 D", "S1 D"), ("S0 D", "D"), ("D", "1 D")]
)
def test_a_fault_where_streams_disagree(val0, val1):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(Alu(parse_format("fixed8.0"), 1, "add"), *map(parse_stream, (val0, val1)), cycles=20)

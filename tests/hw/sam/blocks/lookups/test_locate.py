from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.lookups.locate import Locate
from gnarl.hw.sam.token import EMPTY
from tests.support.sam.nested import depths, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream


def run(crd, ref, size, **arguments):
    return run_block(
        Locate(16), {"crd": crd, "ref": ref}, ["out_ref"], settings={"size": size}, **arguments
    )


def test_a_token_a_cycle():
    got = run(parse_stream("0 2 S0 S0 1 7 S1 D"), parse_stream("3 3 S0 S0 N 5 S1 D"), 10)
    assert format_stream(got["out_ref"]) == "30 32 S0 S0 N 57 S1 D"
    assert got["cycles"] == [8]


@example_settings(max_examples=10)
@given(st.data())
def test_any_nested_stream(data):
    depth = data.draw(depths(0))
    size = data.draw(st.integers(1, 32))
    tree = data.draw(trees(depth, st.tuples(st.integers(0, size - 1), words(6))))
    crds = mapped(lambda pair: pair[0], tree, depth)
    refs = mapped(lambda pair: pair[1], tree, depth)
    located = mapped(
        lambda pair: EMPTY if pair[1] == EMPTY else pair[1] * size + pair[0], tree, depth
    )
    got = run(stream(crds, depth), stream(refs, depth), size, **data.draw(stalls()))
    assert got["out_ref"] == stream(located, depth)


@pytest.mark.parametrize(
    "crd, ref",
    [
        ("0 S0 D", "0 S1 D"),
        ("0 S0 D", "S0 D"),
        ("S0 D", "D"),
        ("10 S0 D", "0 S0 D"),
    ],
)
def test_faults(crd, ref):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(parse_stream(crd), parse_stream(ref), 10)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.lookups.dense_lookup import DenseLookup
from gnarl.hw.sam.token import EMPTY
from tests.support.sam.nested import depths, mapped, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream

OUTPUTS = ["out_crd", "out_ref"]


def run(refs, size, **arguments):
    return run_block(DenseLookup(8), {"ref": refs}, OUTPUTS, settings={"size": size}, **arguments)


@pytest.mark.parametrize(
    "size, refs, crd, ref",
    [
        (2, "0 1 S0 D", "0 1 S0 0 1 S1 D", "0 1 S0 2 3 S1 D"),
        (3, "0 D", "0 1 2 S0 D", "0 1 2 S0 D"),
        (2, "0 S0 S0 4 S1 D", "0 1 S1 S1 0 1 S2 D", "0 1 S1 S1 8 9 S2 D"),
        (2, "0 N 3 S0 D", "0 1 S0 S0 0 1 S1 D", "0 1 S0 S0 6 7 S1 D"),
        (0, "0 5 S0 D", "S0 S1 D", "S0 S1 D"),
    ],
)
def test_a_token_a_cycle(size, refs, crd, ref):
    got = run(parse_stream(refs), size)
    assert format_stream(got["out_crd"]) == crd
    assert format_stream(got["out_ref"]) == ref
    # The level of a fiber's stop is seen in the cycle after its reference.
    assert got["cycles"] == [len(got["out_crd"]) + (size == 0)]


def test_coordinates_do_not_wait_for_the_next_reference():
    got = run_block(DenseLookup(8), {"ref": parse_stream("0 D")}, OUTPUTS, settings={"size": 100})
    assert got["cycles"] == [102]


@example_settings(max_examples=15)
@given(st.data())
def test_any_nested_stream(data):
    depth = data.draw(depths(0, 3))
    size = data.draw(st.integers(0, 4))
    tree = data.draw(trees(depth, words(6)))
    got = run(stream(tree, depth), size, **data.draw(stalls()))
    crds = mapped(lambda ref: [] if ref == EMPTY else list(range(size)), tree, depth)
    refs = mapped(
        lambda ref: [] if ref == EMPTY else [(ref * size + crd) % 256 for crd in range(size)],
        tree,
        depth,
    )
    assert got["out_crd"] == stream(crds, depth + 1)
    assert got["out_ref"] == stream(refs, depth + 1)

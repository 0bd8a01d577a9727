from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.joins.bitvector_expand import BitvectorExpand
from tests.support.sam.nested import depths, mapped, stalls, stream, trees
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream

WORDS = 2


def run(bv, ref, **arguments):
    return run_block(
        BitvectorExpand(16), {"bv": bv, "ref": ref}, ["out_crd", "out_ref"], **arguments
    )


def test_a_coordinate_a_cycle():
    got = run(parse_stream("11 2147483649 S0 S0 4 S1 D"), parse_stream("7 10 S0 S0 12 S1 D"))
    assert format_stream(got["out_crd"]) == "0 1 3 32 63 S0 S0 2 S1 D"
    assert format_stream(got["out_ref"]) == "7 8 9 10 11 S0 S0 12 S1 D"
    assert got["cycles"] == [10]


def test_a_cycle_for_a_word_of_zeros():
    got = run(parse_stream("0 0 4 S0 D"), parse_stream("0 0 0 S0 D"))
    assert format_stream(got["out_crd"]) == "66 S0 D"
    assert got["cycles"] == [5]


def fibers():
    """Coordinates of a fiber of some words."""
    return st.lists(st.integers(0, 32 * WORDS - 1), unique=True, max_size=12).map(sorted)


def words_of(crds):
    return [sum(1 << crd % 32 for crd in crds if crd // 32 == number) for number in range(WORDS)]


@example_settings(max_examples=15)
@given(st.data())
def test_any_nested_stream(data):
    depth = data.draw(depths(0, 3))
    tree = data.draw(trees(depth, st.tuples(st.integers(0, 1000), fibers())))

    def refs_of(base, crds):
        """Beside each word, how many come before it."""
        return [base + sum(crd < 32 * number for crd in crds) for number in range(WORDS)]

    got = run(
        stream(mapped(lambda leaf: words_of(leaf[1]), tree, depth), depth + 1),
        stream(mapped(lambda leaf: refs_of(*leaf), tree, depth), depth + 1),
        **data.draw(stalls()),
    )
    crds = mapped(lambda leaf: leaf[1], tree, depth)
    refs = mapped(lambda leaf: list(range(leaf[0], leaf[0] + len(leaf[1]))), tree, depth)
    assert got["out_crd"] == stream(crds, depth + 1)
    assert got["out_ref"] == stream(refs, depth + 1)


@pytest.mark.parametrize("bv, ref", [("1 S0 D", "0 S1 D"), ("1 S0 D", "S0 D"), ("S0 D", "D")])
def test_faults(bv, ref):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(parse_stream(bv), parse_stream(ref))

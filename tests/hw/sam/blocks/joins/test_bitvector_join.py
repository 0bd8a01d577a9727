from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.joins.bitvector_join import BitvectorIntersect, BitvectorUnion
from gnarl.hw.sam.token import EMPTY
from tests.support.sam.nested import depths, mapped, stalls, stream, trees
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream

WORDS = 2
OUTPUTS = ["out_crd", "out_ref0", "out_ref1"]


def run(block, bv0, ref0, bv1, ref1, **arguments):
    inputs = {"bv0": bv0, "ref0": ref0, "bv1": bv1, "ref1": ref1}
    return run_block(block(16), inputs, OUTPUTS, **arguments)


@pytest.mark.parametrize(
    "block, bv0, ref0, bv1, ref1, crd, out_ref0, out_ref1, cycles",
    [
        (
            BitvectorIntersect,
            *("13 S0 D", "1 S0 D", "12 S0 D", "3 S0 D"),
            *("2 3 S0 D", "2 3 S0 D", "3 4 S0 D", 4),
        ),
        (
            BitvectorUnion,
            *("13 S0 D", "1 S0 D", "12 S0 D", "3 S0 D"),
            *("0 2 3 S0 D", "1 2 3 S0 D", "N 3 4 S0 D", 5),
        ),
        (
            BitvectorIntersect,
            *("1 3 S0 S1 D", "0 1 S0 S1 D", "2 2 S0 S1 D", "0 1 S0 S1 D"),
            *("33 S0 S1 D", "2 S0 S1 D", "1 S0 S1 D", 5),
        ),
        # The fiber of a lane without operand has no words.
        (
            BitvectorUnion,
            *("S0 0 1 S1 D", "S0 9 9 S1 D", "0 6 S0 S1 D", "4 4 S0 S1 D"),
            *("33 34 S0 32 S1 D", "N N S0 9 S1 D", "4 5 S0 N S1 D", 8),
        ),
        (
            BitvectorIntersect,
            *("S0 0 1 S1 D", "S0 9 9 S1 D", "0 6 S0 S1 D", "4 4 S0 S1 D"),
            *("S0 S1 D", "S0 S1 D", "S0 S1 D", 7),
        ),
    ],
)
def test_a_coordinate_a_cycle_or_none_for_words(
    block, bv0, ref0, bv1, ref1, crd, out_ref0, out_ref1, cycles
):
    got = run(block, *(parse_stream(text) for text in (bv0, ref0, bv1, ref1)))
    assert [format_stream(got[name]) for name in OUTPUTS] == [crd, out_ref0, out_ref1]
    assert got["cycles"] == [cycles]


def fibers():
    return st.lists(st.integers(0, 32 * WORDS - 1), unique=True, max_size=12).map(sorted)


def lane(base, crds):
    """Words of a fiber, and beside each, how many ones come before it."""
    words, refs = [], []
    for number in range(WORDS):
        words.append(sum(1 << crd % 32 for crd in crds if crd // 32 == number))
        refs.append(base + sum(crd < 32 * number for crd in crds))
    return words, refs


@pytest.mark.parametrize("block", [BitvectorIntersect, BitvectorUnion])
@example_settings(max_examples=10)
@given(data=st.data())
def test_any_nested_stream(block, data):
    depth = data.draw(depths(0, 3))
    base = st.integers(0, 1000)
    tree = data.draw(trees(depth, st.tuples(base, fibers(), base, fibers())))
    inputs = [
        stream(
            mapped(lambda leaf, k=k, column=column: lane(*leaf[k : k + 2])[column], tree, depth),
            depth + 1,
        )
        for k in (0, 2)
        for column in (0, 1)
    ]
    got = run(block, *inputs, **data.draw(stalls()))

    def join(leaf):
        base0, crds0, base1, crds1 = leaf
        every = sorted(set(crds0) | set(crds1))
        if block is BitvectorIntersect:
            every = sorted(set(crds0) & set(crds1))
        refs0 = [base0 + crds0.index(crd) if crd in crds0 else EMPTY for crd in every]
        refs1 = [base1 + crds1.index(crd) if crd in crds1 else EMPTY for crd in every]
        return every, refs0, refs1

    for place, name in enumerate(OUTPUTS):
        joined = mapped(lambda leaf, place=place: join(leaf)[place], tree, depth)
        assert got[name] == stream(joined, depth + 1)


@pytest.mark.parametrize("block", [BitvectorIntersect, BitvectorUnion])
@pytest.mark.parametrize(
    "bv0, ref0, bv1, ref1",
    [
        ("1 S0 D", "0 S1 D", "1 S0 D", "0 S0 D"),
        ("S0 D", "S0 D", "S1 D", "S1 D"),
        ("1 S0 D", "0 S0 D", "D", "D"),
        ("S0 D", "S0 D", "D", "D"),
    ],
)
def test_faults(block, bv0, ref0, bv1, ref1):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(block, *(parse_stream(text) for text in (bv0, ref0, bv1, ref1)))

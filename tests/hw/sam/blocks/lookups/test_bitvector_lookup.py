# amaranth: UnusedElaboratable=no
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.lookups.bitvector_lookup import BitvectorLookup
from gnarl.hw.sam.token import EMPTY
from tests.support.sam.nested import depths, mapped, stalls, stream, trees
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream

OUTPUTS = ["out_bv", "out_ref"]
# Words, and how many ones come before each.
ROWS = [(0b1011, 0), (0b0101, 3), (0, 5), (0b1000, 5), (1 << 31, 6), (0, 7)]


def run(refs, words, **arguments):
    return run_block(
        BitvectorLookup(32, len(ROWS)),
        {"ref": refs},
        OUTPUTS,
        settings={"words": words},
        memories={"mem_bv": ROWS},
        **arguments,
    )


@pytest.mark.parametrize(
    "words, refs, bv, ref",
    [
        (1, "1 2 S0 3 S1 D", "5 S0 0 S1 8 S2 D", "3 S0 5 S1 5 S2 D"),
        (2, "0 N S0 S0 1 S1 D", "11 5 S0 S1 S1 0 8 S2 D", "0 3 S0 S1 S1 5 5 S2 D"),
        (3, "0 1 S0 D", "11 5 0 S0 8 2147483648 0 S1 D", "0 3 5 S0 5 6 7 S1 D"),
    ],
)
def test_a_token_a_cycle_after_the_memory(words, refs, bv, ref):
    got = run(parse_stream(refs), words)
    assert format_stream(got["out_bv"]) == bv
    assert format_stream(got["out_ref"]) == ref
    assert got["cycles"] == [1 + len(got["out_bv"])]


@pytest.mark.parametrize("latency", [2, 4, 7])
def test_a_token_a_cycle_at_any_latency(latency):
    got = run(parse_stream("0 1 2 3 4 5 S0 D"), 1, latency=latency)
    assert got["cycles"] == [latency + len(got["out_bv"])]


@example_settings(max_examples=10)
@given(st.data())
def test_any_nested_stream(data):
    depth = data.draw(depths(0, 3))
    words = data.draw(st.integers(1, 3))
    leaf = st.one_of(st.integers(0, len(ROWS) // words - 1), st.just(EMPTY))
    tree = data.draw(trees(depth, leaf))
    got = run(
        stream(tree, depth),
        words,
        latency=data.draw(st.sampled_from([1, 3])),
        **data.draw(stalls()),
    )
    for name, column in (("out_bv", 0), ("out_ref", 1)):
        fibers = mapped(
            lambda ref, column=column: (
                []
                if ref == EMPTY
                else [row[column] for row in ROWS[ref * words : (ref + 1) * words]]
            ),
            tree,
            depth,
        )
        assert got[name] == stream(fibers, depth + 1)


@pytest.mark.parametrize("ref, words", [(2, 3), (1, 4), (6, 1), (0xFFFFFFFF, 1)])
def test_a_row_beyond_the_array_is_a_fault(ref, words):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(parse_stream(f"{ref} S0 D"), words)


def test_words_need_their_width():
    message = r"^index_bits = 16: must be 32 for a bitvector level, whose rows hold its words$"
    with pytest.raises(ValueError, match=message):
        BitvectorLookup(16, 8)

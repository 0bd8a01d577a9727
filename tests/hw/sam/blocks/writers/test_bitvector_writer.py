from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sam.blocks.writers.bitvector_writer import BitvectorWriter
from gnarl.hw.sam.token import DONE, Kind, stop
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.sam.nested import depths, fibers, stalls, stream, trees
from tests.support.sam.tokens import kind_of, parse_stream
from tests.support.sam.writers import run_writer

COUNTS = "rows", "entries"


def words_of(crds: list[int], words: int) -> list[int]:
    """A fiber as numbers of 32 bits."""
    bits = sum(1 << crd for crd in crds)
    return [bits >> 32 * word & 0xFFFFFFFF for word in range(words)]


def rows_of(words: list[int]) -> list[list[int]]:
    """Words, and how many ones there are before each."""
    ones = [0, *accumulate(word.bit_count() for word in words)]
    return [list(row) for row in zip(words, ones, strict=False)]


def run(block: BitvectorWriter, tokens: list[int], words: int, **options):
    return run_writer(block, tokens, ["bv"], COUNTS, settings={"words": words}, **options)


@pytest.mark.parametrize(
    "text, words, keep_empty, expected",
    [
        ("0 2 3 S0 S0 1 S1 D", 1, False, [13, 2]),  # the SAM tools' crd to bitvector
        ("0 2 3 S0 S0 1 S1 D", 1, True, [13, 0, 2]),
        ("31 32 S0 64 S1 D", 3, False, [1 << 31, 1, 0, 0, 0, 1]),
        ("S0 S1 D", 2, True, [0, 0, 0, 0]),
        ("S0 S1 D", 2, False, []),
        ("S0 S1 D", 0, True, []),
        ("D", 2, True, []),
    ],
)
def test_examples(text, words, keep_empty, expected):
    tokens = parse_stream(text)
    got = run(BitvectorWriter(8, 300, keep_empty), tokens, words)
    del got["cycles"]
    entries = sum(kind_of(token) == Kind.DATA for token in tokens)
    assert got == {"bv": rows_of(expected), "rows": len(expected), "entries": entries}


@settings(max_examples=10)
@given(st.data(), depths(), st.integers(1, 4), st.booleans(), stalls())
def test_random_streams(data, depth, words, keep_empty, pauses):
    crds = st.lists(st.integers(0, 32 * words - 1), max_size=40, unique=True).map(sorted)
    tokens = stream(data.draw(trees(depth - 1, crds)), depth)
    expected: list[int] = []
    for *fiber, _ in fibers(tokens):
        if keep_empty or fiber:
            expected += words_of(fiber, words)
    got = run(BitvectorWriter(16, 3000, keep_empty), tokens, words, **pauses)
    assert got["bv"] == rows_of(expected)
    assert got["rows"] == len(expected)
    assert got["entries"] == sum(kind_of(token) == Kind.DATA for token in tokens)


@pytest.mark.parametrize(
    "fiber, words, extra",
    [
        (range(96), 3, 0),
        (range(0, 96, 31), 3, 0),
        ([0, 95], 3, 1),  # word 0 goes in a cycle of its own, 1 with coordinate 95
        ([], 3, 2),
    ],
)
def test_a_token_a_cycle_where_no_word_is_zero(fiber, words, extra):
    tokens = [*([*fiber, stop(0)] * 5), DONE]
    got = run(BitvectorWriter(16, 300, True), tokens, words)
    assert got["bv"] == rows_of(words_of(list(fiber), words) * 5)
    assert got["cycles"] == len(tokens) + 5 * extra


@pytest.mark.parametrize(
    "text, cycle",
    [
        ("5 5 S0 D", 1),
        ("5 4 S0 D", 1),
        ("32 31 S0 D", 1),
        ("63 64 S0 D", 1),
        ("N S0 D", 0),
        ("0 S0 0 S0 0 S1 D", 8),
    ],
)
def test_a_fault_at_coordinates_out_of_place_and_when_the_array_is_full(text, cycle):
    with pytest.raises(AssertionError, match=f"fault in cycle {cycle}"):
        run(BitvectorWriter(16, 5, True), parse_stream(text), 2)


@pytest.mark.parametrize("keep_empty", [False, True])
def test_verilog_is_clean(keep_empty):
    assert lint(to_verilog(BitvectorWriter(32, 1 << 18, keep_empty), "writer"), "writer") == []

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.operation import Operation
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.sums import run_totals
from gnarl.sw.golden.words import from_words, to_words

FORMATS = ["float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3", "fixed16.8"]


def one_by_one(words: np.ndarray, lengths: np.ndarray, operation: str, format: str) -> list[int]:
    unit = arithmetic(format)
    totals, first = [], 0
    for length in lengths.tolist():
        total = words[first : first + 1] if length else np.zeros(1, np.uint32)
        for word in words[first + 1 : first + length]:
            left, right = unit.numbers(total), unit.numbers(np.array([word]))
            total = unit.words(unit.apply(Operation[operation.upper()], left, right))
        totals.append(int(total[0]))
        first += length
    return totals


def test_sums_are_rounded_one_by_one():
    words = to_words(np.array([2.0**24, 1, 1, 1, 1, 2.0**24, 7]), "float32")
    totals = run_totals(words, np.array([3, 0, 3, 1]), "add", "float32")
    assert from_words(totals, "float32").tolist() == [2.0**24, 0.0, 2.0**24 + 2, 7.0]


def test_the_first_word_is_copied():
    words = np.array([0x80000000, 0xFFC12345, 0x80000000, 0x80000000], np.uint32)
    totals = run_totals(words, np.array([1, 1, 2]), "add", "float32")
    assert totals.tolist() == [0x80000000, 0xFFC12345, 0x80000000]


def test_no_runs():
    assert run_totals(np.zeros(0, np.uint32), np.zeros(0, int), "add", "float32").tolist() == []


@settings(max_examples=30)
@given(
    st.sampled_from(FORMATS),
    st.sampled_from(["add", "max"]),
    st.lists(st.integers(0, 9), max_size=60),
    st.integers(0, 2**32 - 1),
)
def test_totals_are_those_of_one_operation_after_the_other(format, operation, lengths, seed):
    rng = np.random.default_rng(seed)
    lengths = np.array(lengths, np.int64)
    words = to_words(rng.normal(size=int(lengths.sum())), format)
    expected = one_by_one(words, lengths, operation, format)
    assert run_totals(words, lengths, operation, format).tolist() == expected


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("operation", ["add", "max"])
def test_any_words_in_long_runs_and_many(format, operation):
    """Infinities, NaNs and subnormal numbers, too."""
    rng = np.random.default_rng(0)
    lengths = np.concatenate([rng.integers(0, 6, 50), rng.integers(60, 90, 5)])
    width = {"float32": 32, "float8_e5m2": 8, "float8_e4m3": 8}.get(format, 16)
    words = rng.integers(0, 1 << width, int(lengths.sum())).astype(np.uint32)
    expected = one_by_one(words, lengths, operation, format)
    assert run_totals(words, lengths, operation, format).tolist() == expected

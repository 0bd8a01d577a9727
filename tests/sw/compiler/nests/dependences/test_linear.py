"""Sums are sure to be an int32, or may wrap around."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.compiler.nests.dependences.linear import LEAST, MOST, Linear, Range, is_int32

RANGES = {"low": Range(Linear(LEAST), Linear(-1), 1), "high": Range(Linear(1), Linear(MOST), 1)}


def test_an_unknown_number_is_any_int32():
    limits = np.iinfo(np.int32)
    assert (LEAST, MOST) == (limits.min, limits.max)


@pytest.mark.parametrize(
    "form, is_sure",
    [
        (Linear(LEAST), True),
        (Linear(LEAST - 1), False),
        (Linear(MOST), True),
        (Linear(MOST + 1), False),
        (Linear(0, {"low": 1}), True),
        (Linear(-1, {"low": 1}), False),
        (Linear(0, {"high": 1}), True),
        (Linear(1, {"high": 1}), False),
        (Linear(-1, {"high": 1}), True),
        (Linear(0, {"low": 1, "high": 1}), True),
        (Linear(0, {"low": -1}), False),
    ],
)
def test_sums_at_the_ends_of_int32(form: Linear, is_sure: bool):
    assert is_int32(form, RANGES.__getitem__) == is_sure

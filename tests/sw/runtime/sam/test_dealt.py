"""Rows of lanes in the order of what was dealt to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.runtime.sam.dealt import Dealt

UNITS = some.lists(some.lists(some.integers(0, 3), max_size=4), max_size=12)
"""Of each unit its rows, and what each of these has become."""


@given(UNITS, some.integers(2, 5))
def test_rows_come_in_the_order_of_units(units: list[list[int]], lanes: int) -> None:
    dealt = Dealt.units(len(units), lanes)
    counts = [len(unit) for unit in units]
    own = dealt.within(np.array(counts, np.int64))
    assert own.rows.tolist() == counts
    numbered = np.arange(2 * sum(counts)).reshape(-1, 2)
    split = np.split(numbered, np.cumsum(counts)[:-1]) if units else []
    parts = [np.concatenate([numbered[:0], *split[lane::lanes]]) for lane in range(lanes)]
    np.testing.assert_array_equal(own.joined(parts, "writer"), numbered)
    deeper = own.within(np.array([rows for unit in units for rows in unit], np.int64))
    assert deeper.rows.tolist() == [sum(unit) for unit in units]


def test_lanes_have_what_they_were_dealt() -> None:
    dealt = Dealt.units(3, 2)
    with pytest.raises(ProgramError, match=r"^w: lane 1 wrote 2 rows: must be 1, as it was dealt$"):
        dealt.joined([np.zeros(2), np.zeros(2)], "w")

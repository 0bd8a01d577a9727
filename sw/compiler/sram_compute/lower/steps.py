"""Steps of a program on values, before rows are allocated: rows of flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hw.sram_compute.isa import DIMENSIONS
from sw.compiler.sram_compute.lower.records import Records

CALCULATE, MOVE, FILL, KEEP = range(4)
"""What a step does: compute; bring some cells of ``a`` to ``result``, whose others stay as they
are; make all cells of ``result`` the bits of ``detail``; make ``a`` main memory's array
``detail``."""

VALUE = np.dtype(
    [
        ("rows", np.int64),
        ("constant", np.int64),
        ("array", np.int64),
        ("row", np.int64),
        ("since", np.int64),
        ("slot", np.int64),
        ("is_locked", np.int64),
        ("is_known", np.int64),
        ("next_use", np.int64),
        ("end_uses", np.int64),
    ]
)
"""Some ``rows`` of all tiles, perhaps at different places at different times. ``constant``: the
bits that they have on all bitlines, then nothing has to be kept; ``array``: whose value it is at
the beginning, then main memory has it. -1: none. The rest is of ``allocate``."""

STEP = np.dtype(
    [
        ("kind", np.int64),
        ("result", np.int64),
        ("a", np.int64),
        ("b", np.int64),
        ("e", np.int64),
        ("detail", np.int64),
        ("is_partial", np.int64),
    ]
)
"""``result``, ``a``, ``b``, ``e``: values, -1 for none. ``detail``: the calculation, or the
``MOVED``. ``is_partial``: whether what the result has elsewhere is of use."""

MOVED = np.dtype(
    [
        ("is_broadcast", np.int64),
        ("dimension", np.int64),
        ("by", np.int64),
        ("cells", np.int64, (DIMENSIONS, 2)),
        ("first", np.int64),
        ("end", np.int64),
    ]
)
"""Cells, first and, without, last of each dimension, that go ``by`` so many along a dimension; or
those to which what is in place ``by`` of it goes. ``first``, ``end``: what ``movements`` makes."""


class Steps(NamedTuple):
    """Room for steps, which are filled in one after the other.

    values, steps, moved
        ``VALUE`` [n], ``STEP`` [n], ``MOVED`` [n].
    counts
        int64 [3]: how many of each there are.
    """

    values: Records
    steps: Records
    moved: Records
    counts: np.ndarray


VALUES, STEPS, MOVES = range(3)
"""Places in ``counts``."""


def room(values: int, steps: int) -> Steps:
    """Empty; as many moves as steps."""
    counts = np.zeros(3, np.int64)
    return Steps(np.empty(values, VALUE), np.empty(steps, STEP), np.empty(steps, MOVED), counts)

"""Steps of a program on values, before rows are allocated: rows of flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.sram_compute.isa import DIMENSIONS
from gnarl.sw.compiler.sram_compute.lower.records import Records

CALCULATE, MOVE, FILL, FLOOD, FINISH, KEEP = range(6)
"""What a step does: compute; bring some cells of ``a`` to ``result``, whose others stay as they
are; make all cells of ``result`` the bits of ``detail``; in all tiles that there are, beyond those
of the lattice, too; have stream engines finish the sums of ``result``, as its kind ``detail`` has
it; make ``a`` main memory's array ``detail``."""

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
        ("part", np.int64),
        ("output", np.int64),
    ]
)
"""``result``, ``a``, ``b``, ``e``: values, -1 for none. ``detail``: the calculation, or the
``MOVED``. ``is_partial``: whether what the result has elsewhere is of use. ``part``: of ``KEEP``,
the ``MOVED`` whose cells are all that is kept, or -1. ``output``: of the template, the first one
that it is for."""

SHIFTED, COPIED, FOLDED = range(3)
"""How cells move: some ``by`` so many along a dimension; to some, what is in place ``by`` of it; in
all tiles, to the first ``by`` cells of a dimension those ``by`` cells further on."""

MOVED = np.dtype(
    [
        ("how", np.int64),
        ("dimension", np.int64),
        ("by", np.int64),
        ("cells", np.int64, (DIMENSIONS, 2)),
        ("first", np.int64),
        ("end", np.int64),
    ]
)
"""``cells``: first and, without, last of each dimension. ``first``, ``end``: what ``movements``
makes."""


class Steps(NamedTuple):
    """Room for steps, which are filled in one after the other.

    values, steps, moved
        ``VALUE`` [n], ``STEP`` [n], ``MOVED`` [n].
    counts
        int64 [4]: how many of each there are, and the ``output`` of steps that are added.
    """

    values: Records
    steps: Records
    moved: Records
    counts: np.ndarray


VALUES, STEPS, MOVES, FOR = range(4)
"""Places in ``counts``."""


def room(values: int, steps: int) -> Steps:
    """Empty; as many moves as steps."""
    counts = np.zeros(4, np.int64)
    return Steps(np.empty(values, VALUE), np.empty(steps, STEP), np.empty(steps, MOVED), counts)

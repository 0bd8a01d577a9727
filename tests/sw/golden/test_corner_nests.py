"""Nests with corners: what the golden model makes of them is what Python itself does; and which
corners there are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gnarl.sw.golden.loops import GoldenLoops
from tests.support.errors import noted
from tests.support.nests.corner_nests import KINDS, corner_nest

COUNT, TOGETHER = 4000, 200
"""Seeds that ``make test-all`` runs, and how many are one test."""


def check_seed(seed: int) -> None:
    """NaNs may have other bits than Python's."""
    case = corner_nest(seed, narrow=seed % 2 > 0, owns=seed % 4 > 1)
    found = GoldenLoops(case.workload.nest).run(case.workload.binding)
    python = case.as_python()
    for name, golden in found.items():
        wanted = python[name]
        assert golden.dtype == wanted.dtype
        both = np.isnan(golden) & np.isnan(wanted)
        assert np.where(both, 0, golden).tobytes() == np.where(both, 0, wanted).tobytes(), name


def test_nests_with_corners() -> None:
    for seed in range(16):
        with noted(f"{seed=}"):
            check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_many_nests_with_corners(first: int) -> None:
    for seed in range(first, first + TOGETHER):
        with noted(f"{seed=}"):
            check_seed(seed)


def count_kinds(count: int) -> Counter[str]:
    found = (corner_nest(seed, narrow=seed % 2 > 0, owns=seed % 4 > 1) for seed in range(count))
    return Counter(kind for case in found for kind in case.kinds)


def test_every_kind_of_corner_is_drawn() -> None:
    """No kind has no name."""
    assert set(count_kinds(120)) == set(KINDS)


@pytest.mark.slow
def test_every_kind_of_corner_is_drawn_often() -> None:
    """Each in 1 of 50 at least."""
    counts = count_kinds(1000)
    assert not [kind for kind in KINDS if counts[kind] < 20]

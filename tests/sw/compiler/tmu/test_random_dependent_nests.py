"""Nests whose iterations depend on each other, in all manners: the golden model's bits."""

from __future__ import annotations

from random import Random

import pytest

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.errors import noted
from tests.support.nests.dependent_runs import check_tmu
from tests.support.nests.random_dependent_nests import RandomDependentNest, random_values
from tests.support.tmu.manners import MANNERS

COUNT, TOGETHER = 2000, 50
"""Seeds that ``make test-all`` runs in each manner, and how many are one test."""


def check_seed(seed: int, manner: str) -> None:
    """Checks a nest; numbers of even seeds are whole, and lanes may have sums of their own."""
    random, is_exact = Random(seed), seed % 2 == 0
    nest = RandomDependentNest(random, exact=is_exact).nest()
    given = LoopWorkload("dependent", nest, random_values(random, exact=is_exact))
    lanes = random.choice((2, 4, 8))
    config = TmuConfig(lanes=lanes, memory_bytes=1 << 16, l1_bytes=1 << 10, l2_bytes=1 << 11)
    check_tmu(given, config, reassociate=is_exact, **MANNERS[manner])


@pytest.mark.parametrize("seed", range(12))
def test_dependent_nests(seed: int):
    """Each in one manner."""
    check_seed(seed, list(MANNERS)[seed % len(MANNERS)])


@pytest.mark.slow
@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_many_dependent_nests(first: int, manner: str):
    refused = 0
    for seed in range(first, first + TOGETHER):
        try:
            with noted(f"{seed=} {manner=}"):
                check_seed(seed, manner)
        except CapacityError:  # more streams than a traversal unit has
            refused += 1
    assert refused <= TOGETHER // 10

"""Nests with corners: the golden model's bits at all levels, and without some passes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import without
from gnarl.sw.compiler.tmu.compile import PASSES
from tests.support.errors import noted
from tests.support.nests.corner_nests import corner_nest
from tests.support.nests.dependent_runs import check_tmu, run_tmu
from tests.support.tmu.manners import manner_of

COUNT, TOGETHER = 4000, 100
"""Seeds that ``make test-all`` runs, and how many are one test."""

OPTIONAL = [each.name for each in PASSES if each.optional]


def options_of(random: Random, seed: int) -> dict[str, Any]:
    """Levels and coupled programs in turn, or up to all optional passes left out."""
    if random.random() < 0.7:
        return manner_of(seed)
    count = random.choice((1, 1, 2, random.randint(2, len(OPTIONAL))))
    return {"passes": without(PASSES, random.sample(OPTIONAL, count))}


def check_seed(seed: int) -> bool:
    """Results have the golden model's bits; or the nest cannot be decoupled, or is too long for the
    program's memory, which is false."""
    case, random = corner_nest(seed), Random(seed)
    lanes = random.choice((2, 4, 8))
    config = TmuConfig(lanes=lanes, memory_bytes=1 << 17, l1_bytes=1 << 10, l2_bytes=1 << 11)
    reassociate = random.random() < 0.4
    options = options_of(random, seed)
    check = check_tmu if case.exact or not reassociate else run_tmu
    try:
        check(case.workload, config, reassociate=reassociate, **options)
    except CapacityError:
        return False
    except WorkloadError as error:
        if "coupled" in options:
            raise
        assert "\n" not in str(error)
        return False
    return True


def check_seeds(first: int, count: int) -> int:
    """How many have programs."""
    found = 0
    for seed in range(first, first + count):
        with noted(f"{seed=}"):
            found += check_seed(seed)
    return found


def test_nests_with_corners() -> None:
    assert check_seeds(0, 3) == 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_many_nests_with_corners(first: int) -> None:
    assert check_seeds(first, TOGETHER) > 0.8 * TOGETHER

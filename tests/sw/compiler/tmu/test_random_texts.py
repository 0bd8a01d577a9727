"""Random nests of all that the notation has for the TMU: the golden model's bits at all levels."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from tests.support.errors import noted
from tests.support.nests.dependent_runs import check_tmu
from tests.support.nests.random_texts.drawn import draw
from tests.support.tmu.manners import MANNERS

COUNT, TOGETHER = 1000, 25
"""Seeds that ``make test-all`` runs in each manner, and how many are one test."""

DECOUPLED = {"level 0": 0, "level 1": 2, "level 2": 7, "level 3": 6, "level 4": 4}
"""Seeds whose nests are decoupled."""


def check_seed(seed: int, manner: str) -> bool:
    """Results have the golden model's bits; or the nest cannot be decoupled, or is too long for the
    program's memory, which is false."""
    drawn = draw(seed)
    config = TmuConfig(lanes=drawn.lanes, memory_bytes=1 << 16, l1_bytes=1 << 10, l2_bytes=1 << 11)
    try:
        check_tmu(drawn.workload, config, reassociate=drawn.exact, **MANNERS[manner])
    except CapacityError:
        return False
    except WorkloadError:
        if manner == "coupled":
            raise
        return False
    return True


@pytest.mark.parametrize("manner", DECOUPLED)
def test_random_texts(manner: str):
    assert check_seed(DECOUPLED[manner], manner)


@pytest.mark.parametrize("seed", (0, 2))
def test_random_texts_coupled(seed: int):
    assert check_seed(seed, "coupled")


@pytest.mark.slow
@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_many_random_texts(first: int, manner: str):
    for seed in range(first, first + TOGETHER):
        with noted(f"{seed=} {manner=}"):
            check_seed(seed, manner)

"""Nests whose iterations depend on each other, on the core and near memory."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.errors import noted
from tests.support.nests.dependent_runs import check_device
from tests.support.nests.random_dependent_nests import RandomDependentNest, random_values

COUNT, TOGETHER = 2000, 50
"""Seeds that ``make test-all`` runs, and how many are one test."""

NEAR = (7, 9, 12, 13, 16, 29)
"""Seeds whose nests streams run."""


@pytest.fixture(scope="module")
def model() -> Iterator[Device]:
    with Device("sram_b2", "model") as device:
        yield device


def check_seed(model: Device, seed: int, place: str) -> bool:
    """Results have the golden model's bits, or the place refuses the nest, which is false. Of even
    seeds numbers are whole, and sums may be in any order."""
    random, is_exact = Random(seed), seed % 2 == 0
    nest = RandomDependentNest(random, exact=is_exact, owns=place == "near").nest()
    given = LoopWorkload("dependent", nest, random_values(random, exact=is_exact))
    try:
        check_device(model, given, place=place, reassociate=is_exact)
    except (CapacityError, WorkloadError):
        if place == "core":
            raise
        return False
    return True


@pytest.mark.parametrize("seed", (0, 1, 106, 139, 209))
def test_on_the_core(model: Device, seed: int):
    assert check_seed(model, seed, "core")


@pytest.mark.parametrize("seed", NEAR)
def test_near_memory(model: Device, seed: int):
    assert check_seed(model, seed, "near")


@pytest.mark.slow
@pytest.mark.parametrize("place", ("core", "near"))
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_many_nests(model: Device, first: int, place: str):
    for seed in range(first, first + TOGETHER):
        with noted(f"{seed=} {place=}"):
            check_seed(model, seed, place)

"""Nests whose loops share locals, in several launches, on the TMU's model."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.errors import noted
from tests.support.nests.dependent_runs import check_device
from tests.support.nests.shared_locals import SharedLocals, random_values
from tests.support.tmu.manners import MANNERS, manner_of


@pytest.fixture(scope="module")
def model() -> Iterator[Device]:
    with Device("tmu_l2", "model") as device:
        yield device


def workload(seed: int) -> LoopWorkload:
    random = Random(seed)
    nest = SharedLocals(random).nest()
    return LoopWorkload("shared_locals", nest, random_values(random))


@pytest.mark.parametrize("seed", range(6))
def test_a_manner_each(model: Device, seed: int):
    check_device(model, workload(seed), **manner_of(seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 600, 20))
def test_all_manners(model: Device, first: int):
    for seed in range(first, first + 20):
        for name, options in MANNERS.items():
            with noted(f"{seed=} {name}"):
                try:
                    check_device(model, workload(seed), **options)
                except (CapacityError, WorkloadError):
                    assert name != "coupled"

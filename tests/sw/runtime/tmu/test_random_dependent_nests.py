"""Nests whose iterations depend on each other, on the RTL of the smallest TMU."""

from __future__ import annotations

from random import Random

import pytest

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests.dependent_runs import check_device
from tests.support.nests.random_dependent_nests import RandomDependentNest, random_values
from tests.support.tmu.manners import manner_of


def check_seed(rtl: Device, seed: int) -> None:
    """Results have the golden model's bits. Of even seeds numbers are whole, and sums may be in any
    order."""
    random, is_exact = Random(seed), seed % 2 == 0
    nest = RandomDependentNest(random, exact=is_exact).nest()
    given = LoopWorkload("dependent", nest, random_values(random, exact=is_exact))
    check_device(rtl, given, reassociate=is_exact, **manner_of(seed))


@pytest.mark.parametrize("seed", range(5, 8))
def test_rtl(rtl: Device, seed: int):
    check_seed(rtl, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3000, 3130))
def test_more_on_rtl(rtl: Device, seed: int):
    try:
        check_seed(rtl, seed)
    except CapacityError as error:
        pytest.skip(str(error))

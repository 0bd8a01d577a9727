"""Nests whose iterations depend on each other, on the RTL of the smallest TMU."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from hw.lib.errors import CapacityError
from sw.compiler.tmu.compile import LEVELS
from sw.golden.loops import GoldenLoops
from sw.runtime.device import Device
from sw.workloads.loops.workload import LoopWorkload
from tests.support.dependent_runs import EXACT, check_same
from tests.support.random_dependent_nests import RandomDependentNest, random_values

MANNERS: list[dict[str, Any]] = [{"coupled": True}, *({"opt": level} for level in LEVELS)]


@pytest.fixture(scope="module")
def rtl() -> Iterator[Device]:
    with Device("tmu_l2", "rtl") as device:
        yield device


def check_seed(rtl: Device, seed: int) -> None:
    """Results have the golden model's bits. Of even seeds numbers are whole, and sums may be in any
    order."""
    random, is_exact = Random(seed), seed % 2 == 0
    nest = RandomDependentNest(random, exact=is_exact).nest()
    given = LoopWorkload("dependent", nest, random_values(random, exact=is_exact))
    program = rtl.compile(given, reassociate=is_exact, **MANNERS[seed % len(MANNERS)])
    result = rtl.run(program, given.inputs)
    assert rtl.verify(result).bit_exact
    wanted = GoldenLoops(nest).run(given.binding)
    largest = max((np.abs(each).max(initial=0) for each in wanted.values()), default=0)
    if not is_exact or largest < EXACT:
        check_same(wanted, result.outputs, f"{seed=}")


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

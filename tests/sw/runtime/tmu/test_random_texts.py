"""Random nests of all that the notation has for the TMU, on the RTL of the smallest one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hw.lib.errors import CapacityError, WorkloadError
from sw.compiler.tmu.compile import LEVELS
from sw.golden.loops import GoldenLoops
from sw.runtime.device import Device
from tests.support.dependent_runs import EXACT, check_same
from tests.support.random_texts.drawn import draw

MANNERS: list[dict[str, Any]] = [{"coupled": True}, *({"opt": level} for level in LEVELS)]
MOST = {"n": 6, "m": 5}
"""Of sizes: the smallest TMU has little memory."""


@pytest.fixture(scope="module")
def rtl() -> Iterator[Device]:
    with Device("tmu_l2", "rtl") as device:
        yield device


def check_seed(rtl: Device, seed: int) -> bool:
    """Results have the golden model's bits; or the nest cannot be decoupled, or is too long for the
    program's memory, which is false."""
    drawn = draw(seed, most=MOST)
    given = drawn.workload
    try:
        program = rtl.compile(given, reassociate=drawn.exact, **MANNERS[seed % len(MANNERS)])
    except (CapacityError, WorkloadError):
        return False
    result = rtl.run(program, given.inputs)
    assert rtl.verify(result).bit_exact
    wanted = GoldenLoops(given.nest).run(given.binding)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        largest = max((np.abs(each).max(initial=0) for each in wanted.values()), default=0)
    if not drawn.exact or largest < EXACT:
        check_same(wanted, result.outputs, f"{seed=}")
    return True


@pytest.mark.parametrize("seed", (0, 1))
def test_rtl(rtl: Device, seed: int):
    assert check_seed(rtl, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3000, 3090))
def test_more_on_rtl(rtl: Device, seed: int):
    if not check_seed(rtl, seed):
        pytest.skip("cannot be decoupled, or is too long")

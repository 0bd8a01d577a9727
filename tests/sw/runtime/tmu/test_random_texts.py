"""Random nests of all that the notation has for the TMU, on the RTL of the smallest one."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.runtime.run.device import Device
from tests.support.nests.dependent_runs import check_device
from tests.support.nests.random_texts.drawn import draw
from tests.support.tmu.manners import manner_of

MOST = {"n": 6, "m": 5}
"""Of sizes: the smallest TMU has little memory."""


def check_seed(rtl: Device, seed: int) -> bool:
    """Results have the golden model's bits; or the nest cannot be decoupled, or is too long for the
    program's memory, which is false."""
    drawn = draw(seed, most=MOST)
    options = {"reassociate": drawn.exact, **manner_of(seed)}
    try:
        rtl.compile(drawn.workload, **options)
    except (CapacityError, WorkloadError):
        return False
    check_device(rtl, drawn.workload, **options)
    return True


@pytest.mark.parametrize("seed", (0, 4))
def test_rtl(rtl: Device, seed: int):
    assert check_seed(rtl, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3000, 3090))
def test_more_on_rtl(rtl: Device, seed: int):
    if not check_seed(rtl, seed):
        pytest.skip("cannot be decoupled, or is too long")

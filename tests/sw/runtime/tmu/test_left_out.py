"""Elements that a condition alone keeps inside of their arrays, on the RTL of the smallest TMU."""

from __future__ import annotations

import pytest

from gnarl.sw.runtime.run.device import Device
from tests.support.nests.dependent_runs import check_device
from tests.support.nests.left_out_nests import left_out
from tests.support.tmu.manners import MANNERS


@pytest.mark.parametrize(
    "name, manner",
    (
        ("below", "level 0"),
        ("below, written", "level 4"),
        ("a place at a loaded place", "level 4"),
        ("hoisted", "coupled"),
        ("of a union: short2", "level 4"),
    ),
)
def test_rtl(rtl: Device, name: str, manner: str):
    check_device(rtl, left_out(name), reassociate=False, **MANNERS[manner])

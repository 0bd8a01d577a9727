"""Elements that a condition alone keeps inside of their arrays, on the RTL of the smallest TMU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sw.golden.loops import GoldenLoops
from sw.runtime.device import Device
from tests.support.dependent_runs import check_same
from tests.support.left_out_nests import left_out


@pytest.fixture(scope="module")
def rtl() -> Iterator[Device]:
    with Device("tmu_l2", "rtl") as device:
        yield device


@pytest.mark.parametrize(
    "name, manner",
    (
        ("below", {"opt": 0}),
        ("below, written", {"opt": 4}),
        ("a place at a loaded place", {"opt": 4}),
        ("hoisted", {"coupled": True}),
        ("of a union: short2", {"opt": 4}),
    ),
)
def test_rtl(rtl: Device, name: str, manner: dict[str, Any]):
    given = left_out(name)
    result = rtl.run(rtl.compile(given, reassociate=False, **manner), given.inputs)
    assert rtl.verify(result).bit_exact
    check_same(GoldenLoops(given.nest).run(given.binding), result.outputs, name)

"""Tests of the runtime run small nests, each of them once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sw.runtime.device import Device


@pytest.fixture(autouse=True)
def golden(interpreted_golden: None) -> None:
    pass


@pytest.fixture(scope="module")
def rtl() -> Iterator[Device]:
    """The smallest TMU, simulated."""
    with Device("tmu_l2", "rtl") as device:
        yield device

"""What tests of the TMU's runtime share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gnarl.sw.runtime.run.device import Device


@pytest.fixture(scope="module")
def rtl() -> Iterator[Device]:
    """The smallest TMU, simulated."""
    with Device("tmu_l2", "rtl") as device:
        yield device

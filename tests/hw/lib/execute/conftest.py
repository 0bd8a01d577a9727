"""Machines that the tests share."""

from __future__ import annotations

import pytest

from tests.support.execute.machine import Machine


@pytest.fixture(scope="session")
def machine() -> Machine:
    return Machine(lanes=4, stages=3, loads=4)

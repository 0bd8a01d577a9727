"""Tests of the runtime run small nests, each of them once."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def golden(interpreted_golden: None) -> None:
    pass

"""Settings of all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# Machines differ in speed: a slow example is no failure.
settings.register_profile("gnarl", deadline=None)
settings.load_profile("gnarl")


@pytest.fixture
def interpreted_golden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Golden models of loop nests in Python: where little is computed, numba's compiler takes
    longer. ``tests/sw/golden`` compiles them."""
    monkeypatch.setattr("sw.golden.loops.njit", lambda **options: lambda function: function)

"""Settings of the tests of golden models."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def golden() -> None:
    """Compiled, as users have them; tests ask for ``interpreted_golden`` themselves."""

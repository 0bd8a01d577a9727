"""Whole error texts."""

from __future__ import annotations

import re

import pytest

from hw.lib.errors import WorkloadError


def refused(text: str) -> pytest.RaisesExc[WorkloadError]:
    """Expects a ``WorkloadError`` with exactly this text, on one line."""
    assert "\n" not in text
    return pytest.raises(WorkloadError, match=f"^{re.escape(text)}$")

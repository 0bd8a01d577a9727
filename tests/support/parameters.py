"""Parameters of tests of which the quick suite has a few."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(quick: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """``values``, with the mark ``slow`` for those that are not in ``quick``; a tuple has several
    parameters' values."""
    kept = list(quick)
    return [each if each in kept else _slow(each) for each in values]


def _slow(value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.slow)

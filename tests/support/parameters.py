"""Parameters of tests of which the quick suite has a few."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def slow_but(quick: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """``values``, with the mark ``slow`` for those that are not in ``quick``; a tuple has several
    parameters' values."""
    kept = list(quick)
    return [each if each in kept else _slow(each) for each in values]


def slow_but_pairs(first: Sequence[Any], second: Sequence[Any], third: Sequence[Any]) -> list[Any]:
    """All triples of three parameters' values, of which the quick suite has enough for all pairs:
    ``third`` must be the shortest."""
    assert len(third) <= min(len(first), len(second))
    return [
        (one, other, last) if number == (row + column) % len(third) else _slow((one, other, last))
        for row, one in enumerate(first)
        for column, other in enumerate(second)
        for number, last in enumerate(third)
    ]


def _slow(value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.slow)

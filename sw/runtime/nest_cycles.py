"""Cycles that no right program of a loop nest takes on a vector core."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from sw.workloads.loops.nest import Nest
from sw.workloads.loops.scalar_type import ScalarType

_START = 1 << 16
"""Cycles of programs that have next to nothing to do, and of caches that are written back."""

_OPERATION = 32
"""Cycles of an operation that is not on memory: a division."""

_TIMES = 4
"""Instructions for each of the source's operations, in a row, none overlapping another."""


def most_cycles(nest: Nest, iterations: int, latency: int, line_cycles: int) -> int:
    """Of a program that does ``iterations`` of the nest's loops, see ``sw.golden.loops.Counted``:
    as if each did all that the source has, one after the other, and everything waited for memory.

    ``latency``: cycles from a request to main memory to its answer; ``line_cycles``: in which a
    line is moved.
    """
    operation = _TIMES * (latency + 2 * line_cycles + _OPERATION)
    return _START + (iterations + 1) * _nodes(nest) * operation


@cache
def _nodes(nest: Nest) -> int:
    """Statements, and operations, of the nest's source."""
    return sum(1 for _ in _walk(nest.body))


def _walk(part: Any) -> Iterator[Any]:
    if isinstance(part, tuple):
        for each in part:
            yield from _walk(each)
    elif is_dataclass(part) and not isinstance(part, ScalarType):
        yield part
        for field in fields(part):
            if field.compare:
                yield from _walk(getattr(part, field.name))

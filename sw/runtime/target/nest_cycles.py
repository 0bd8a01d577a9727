"""Cycles that no right program of a loop nest takes on a vector core."""

from __future__ import annotations

from functools import cache

from gnarl.sw.workloads.loops.ir.nest import (
    AugmentedStore,
    Constant,
    Fiber,
    Load,
    Nest,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes

_START = 1 << 16
"""Cycles of programs that have next to nothing to do, and of caches that are written back."""

_OPERATION = 32
"""Cycles of an operation, more than a division's."""


def most_cycles(nest: Nest, iterations: int, latency: int, line_cycles: int) -> int:
    """Upper bound of the cycles of a program that does ``iterations`` of the nest's loops, see
    ``gnarl.sw.golden.loops.Counted``: as if each did all that the source has, one after the other,
    and each access to an array waited for main memory, from which a line comes and to which another
    goes.

    ``latency``: cycles from a request to main memory to its answer; ``line_cycles``: in which a
    line is moved.
    """
    operations, accesses = _counts(nest)
    cycles = operations * _OPERATION + accesses * (latency + 2 * line_cycles)
    return _START + (iterations + 1) * cycles


@cache
def _counts(nest: Nest) -> tuple[int, int]:
    """Statements and operations of the nest's source, and accesses to arrays among them."""
    operations = [part for part in nodes(nest.body) if not isinstance(part, Constant | Variable)]
    accesses = sum(isinstance(part, Load | Store | Fiber) for part in operations)
    return len(operations), accesses + 2 * sum(
        isinstance(part, AugmentedStore) for part in operations
    )

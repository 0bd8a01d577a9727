"""Truth tables from Python functions of bits.

The functions take bits, 0 or 1, and give a number whose lowest bit counts, or a bool:
``a ^ b ^ c``, ``a & ~p``, ``a if p else b``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

RowFunction = Callable[[int, int, int, int], int]
"""A function of the bits read from rows a and b, the carry and the predicate."""

LatchFunction = Callable[[int, int], int]
"""A function of the carry and the predicate."""


def table(function: RowFunction) -> int:
    """The 16 values of ``function``: bit a + 2 b + 4 c + 8 p is that of (a, b, c, p)."""
    return sum(
        (int(function(case & 1, case >> 1 & 1, case >> 2 & 1, case >> 3)) & 1) << case
        for case in range(16)
    )


def start_table(function: LatchFunction) -> int:
    """The 4 values of ``function``: bit c + 2 p is that of (c, p)."""
    return sum((int(function(case & 1, case >> 1)) & 1) << case for case in range(4))


KEEP_CARRY = table(lambda a, b, c, p: c)
KEEP_PREDICATE = table(lambda a, b, c, p: p)
START_CARRY = start_table(lambda c, p: c)
"""The carry stays as the sweep before it left it."""
START_PREDICATE = start_table(lambda c, p: p)


@cache
def reads(truth: int) -> tuple[bool, bool]:
    """Whether a truth table depends on the bit of row a, and on that of row b."""
    return _depends(truth, 1), _depends(truth, 2)


def _depends(truth: int, bit: int) -> bool:
    return any((truth >> case ^ truth >> (case | bit)) & 1 for case in range(16))

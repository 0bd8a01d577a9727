"""What an arithmetic unit can be told to compute."""

from __future__ import annotations

from amaranth.lib import enum


class Operation(enum.IntEnum, shape=3):  # type: ignore[call-arg]
    """What the unit computes from its left and right operand. Value 7 gives anything."""

    PASS_LEFT = 0
    PASS_RIGHT = 1
    ADD = 2
    SUB = 3
    MUL = 4
    MAX = 5
    MIN = 6

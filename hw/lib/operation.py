"""What an arithmetic unit can compute."""

from __future__ import annotations

from gnarl.hw.lib.encoding.enum import EnumType, IntEnum


class Operation(IntEnum, metaclass=EnumType, shape=3):
    """What the unit computes from its left and right operand. Value 7 gives anything."""

    PASS_LEFT = 0
    PASS_RIGHT = 1
    ADD = 2
    SUB = 3
    MUL = 4
    MAX = 5
    MIN = 6

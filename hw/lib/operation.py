"""What an arithmetic unit can compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.lib.enum import EnumType

if TYPE_CHECKING:  # Amaranth's IntEnum is this one with the metaclass EnumType
    from enum import IntEnum
else:
    from amaranth.lib.enum import IntEnum


class Operation(IntEnum, metaclass=EnumType, shape=3):
    """What the unit computes from its left and right operand. Value 7 gives anything."""

    PASS_LEFT = 0
    PASS_RIGHT = 1
    ADD = 2
    SUB = 3
    MUL = 4
    MAX = 5
    MIN = 6

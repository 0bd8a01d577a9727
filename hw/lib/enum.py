"""Enumerations that are whole numbers in Python and have a width in hardware.

Use: ``class Opcode(IntEnum, metaclass=EnumType, shape=4)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.lib.enum import EnumType

if TYPE_CHECKING:  # Amaranth's IntEnum is this one with the metaclass EnumType
    from enum import IntEnum
else:
    from amaranth.lib.enum import IntEnum

__all__ = ["EnumType", "IntEnum"]

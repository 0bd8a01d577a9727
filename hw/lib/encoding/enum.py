"""Enumerations that are whole numbers in Python and have a width in hardware.

Use: ``class Opcode(IntEnum, metaclass=EnumType, shape=4)``. Where Amaranth is not installed, as on
a machine that makes no hardware, they are whole numbers alone.
"""

from __future__ import annotations

from enum import EnumMeta, IntEnum
from typing import TYPE_CHECKING, Any

try:
    from amaranth.lib.enum import EnumType
except ImportError:

    class EnumType(EnumMeta):  # type: ignore[no-redef]
        def __new__(cls, *arguments: Any, shape: int, **options: Any) -> EnumType:
            return super().__new__(cls, *arguments, **options)
else:
    if not TYPE_CHECKING:  # Amaranth's IntEnum is Python's with the metaclass EnumType
        from amaranth.lib.enum import IntEnum

__all__ = ["EnumType", "IntEnum"]

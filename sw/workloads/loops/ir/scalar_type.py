"""Types of elements and of scalars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ScalarType:
    """``float32``, ``bool``, or whole numbers in two's complement of ``bits`` bits.

    kind
        ``"f"``, ``"b"``, ``"i"`` or ``"u"``, as in NumPy.
    """

    name: str
    kind: str
    bits: int

    def __str__(self) -> str:
        return self.name

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def is_number(self) -> bool:
        return self.kind != "b"

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.name)

    @property
    def least(self) -> int:
        """The least value of an integer type."""
        return -(1 << self.bits - 1) if self.kind == "i" else 0

    @property
    def most(self) -> int:
        """The largest value of an integer type."""
        return (1 << self.bits - (self.kind == "i")) - 1

    def holds(self, other: ScalarType) -> bool:
        """Whether it has every value of ``other``; a conversion to it may then be left unsaid."""
        if self.is_integer and other.is_integer:
            return self.least <= other.least and other.most <= self.most
        return self == other


FLOAT32 = ScalarType("float32", "f", 32)
BOOL = ScalarType("bool", "b", 1)
INT32 = ScalarType("int32", "i", 32)
"""Also of sizes, loop variables, positions and indices."""

ELEMENT_TYPES = (
    FLOAT32,
    ScalarType("int8", "i", 8),
    ScalarType("int16", "i", 16),
    INT32,
    ScalarType("uint8", "u", 8),
    ScalarType("uint16", "u", 16),
    ScalarType("uint32", "u", 32),
)
"""What arrays are made of, and what conversions give."""

BY_NAME = {type.name: type for type in (*ELEMENT_TYPES, BOOL)}


def common(*types: ScalarType) -> ScalarType | None:
    """The smallest type that holds them all, if there is one: int16 for int8 and uint8."""
    held = [kind for kind in (*ELEMENT_TYPES, BOOL) if all(map(kind.holds, types))]
    return min(held, key=lambda kind: kind.bits, default=None)

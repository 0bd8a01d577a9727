"""Numbers in the fields of a layout, by plain shifts.

Amaranth's own constants (``layout.const``, ``layout.from_bits``) take some hundred times as long,
which counts for programs of many instructions. ``gnarl.hw.lib.encoding.packing`` has many words as
arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data


@dataclass(frozen=True)
class BitField:
    """Bits ``offset`` to ``offset + width - 1`` of a word, and the fields within them, if any."""

    offset: int
    width: int
    is_signed: bool
    within: Mapping[str, BitField]

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest number that it holds."""
        if self.is_signed:
            return -(1 << self.width - 1), (1 << self.width - 1) - 1
        return 0, (1 << self.width) - 1


def bit_fields(layout: data.StructLayout) -> dict[str, BitField]:
    """All fields of a layout, by name, in order."""
    found = {}
    for name, field in layout:
        within = bit_fields(field.shape) if isinstance(field.shape, data.StructLayout) else {}
        is_signed = not within and Shape.cast(field.shape).signed
        found[name] = BitField(field.offset, field.width, is_signed, within)
    return found


def packed(fields: Mapping[str, BitField], values: Mapping[str, Any]) -> int:
    """The word in which fields have these numbers, of each as many bits as fit, and others 0.

    A field with fields within takes a mapping. Raises ``KeyError`` for a name of no field.
    """
    word = 0
    for name, value in values.items():
        field = fields[name]
        bits = packed(field.within, value) if field.within else int(value)
        word |= (bits & (1 << field.width) - 1) << field.offset
    return word


def unpacked(fields: Mapping[str, BitField], word: int) -> dict[str, Any]:
    """Inverse of ``packed``: the number in each field, or a dictionary of those within it."""
    numbers: dict[str, Any] = {}
    for name, field in fields.items():
        bits = word >> field.offset & (1 << field.width) - 1
        if field.within:
            numbers[name] = unpacked(field.within, bits)
        elif field.is_signed and bits >> field.width - 1:
            numbers[name] = bits - (1 << field.width)
        else:
            numbers[name] = bits
    return numbers

"""Kinds of registers, and words of constants."""

from __future__ import annotations

import struct
from typing import NoReturn

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    VectorType,
    f32,
    i1,
)
from xdsl.ir import Attribute

from gnarl.hw.lib.errors import WorkloadError


def kind_of(type: Attribute) -> str:
    """The kind of register that a value of this type is kept in."""
    if isinstance(type, VectorType):
        return "m" if type.element_type == i1 else "v"
    return "s"


def word_of(value: Attribute) -> int:
    """The word of a constant, in every lane."""
    if isinstance(value, FloatAttr):
        word: int = struct.unpack("<I", struct.pack("<f", value.value.data))[0]
        return word
    if isinstance(value, IntegerAttr):
        return value.value.data & (1 if value.type == i1 else 0xFFFF_FFFF)
    assert isinstance(value, DenseIntOrFPElementsAttr)
    first = value.get_values()[0]
    if isinstance(value.get_element_type(), type(f32)):
        return word_of(FloatAttr(first, f32))
    return int(first) & 0xFFFF_FFFF


def refuse(place: str, what: str) -> NoReturn:
    """Raises ``WorkloadError`` that names the source's place."""
    raise WorkloadError(f"{place}: {what}: not supported by the execute unit")

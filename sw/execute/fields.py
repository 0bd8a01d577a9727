"""Fields of many instructions as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Shape
from amaranth.lib import data

from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION, OPERAND, Instruction

Numbers = npt.NDArray[np.int64]


class Fields(NamedTuple):
    """int64 [n] each, of those of ``INSTRUCTION``; ``immediate`` without a sign; ``sources`` and
    ``indices`` [3, n]: of operands a, b and c."""

    opcode: Numbers
    vector: Numbers
    dst: Numbers
    mask: Numbers
    sources: Numbers
    indices: Numbers
    increment: Numbers
    immediate: Numbers


def fields_of_words(words: npt.NDArray[np.uint32]) -> Fields:
    """The fields of encoded instructions, uint32 [n, 3]."""
    places = [INSTRUCTION[name].offset for name in "abc"]
    return Fields(
        opcode=_field(words, INSTRUCTION, "opcode"),
        vector=_field(words, INSTRUCTION, "vector"),
        dst=_field(words, INSTRUCTION, "dst"),
        mask=_field(words, INSTRUCTION, "mask"),
        sources=np.stack([_field(words, OPERAND, "source", place) for place in places]),
        indices=np.stack([_field(words, OPERAND, "index", place) for place in places]),
        increment=_field(words, INSTRUCTION, "increment"),
        immediate=_field(words, INSTRUCTION, "immediate"),
    )


def fields_of(instructions: Sequence[Instruction]) -> Fields:
    rows = [
        (
            each.opcode,
            each.vector,
            each.dst,
            each.mask,
            *(operand.source for operand in (each.a, each.b, each.c)),
            *(operand.index for operand in (each.a, each.b, each.c)),
            each.increment,
            each.immediate & 0xFFFF_FFFF,
        )
        for each in instructions
    ]
    columns = np.array(rows, np.int64).reshape(-1, 12).T
    opcode, vector, dst, mask = columns[:4]
    increment, immediate = columns[10:]
    return Fields(opcode, vector, dst, mask, columns[4:7], columns[7:10], increment, immediate)


def _field(
    words: npt.NDArray[np.uint32], layout: data.StructLayout, name: str, place: int = 0
) -> Numbers:
    """A field, by its name, of a layout that begins at bit ``place``; it may cross a word's end."""
    field = layout[name]
    shape = Shape.cast(field.shape)
    word, shift = divmod(place + field.offset, 32)
    low = words[:, word].astype(np.int64)
    high = words[:, word + 1].astype(np.int64) if shift + shape.width > 32 else np.int64(0)
    value = (low >> shift | high << (32 - shift)) & (1 << shape.width) - 1
    return value - (value >> shape.width - 1 << shape.width) if shape.signed else value

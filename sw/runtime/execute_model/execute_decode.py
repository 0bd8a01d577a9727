"""Instructions of the execute unit as a table, for its interpreter.

Operands and results are rows of one array of registers, in which scalar registers, the immediate
and a dequeued word have their value in all lanes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Shape
from amaranth.lib import data

from hw.lib.execute_isa import (
    INSTRUCTION,
    MASK_REGISTERS,
    OPERAND,
    Fault,
    Opcode,
    Source,
)
from sw.runtime.execute_model.execute_loop import (
    DST,
    FAULT,
    IMMEDIATE,
    INCREMENT,
    INCREMENTED,
    MASK,
    MASKS,
    NOWHERE,
    OFFSET,
    OPCODE,
    SCALARS,
    TAKEN,
    TAKES,
    VECTORS,
    WIDTH,
    ZERO,
    A,
    B,
    C,
)

_TAKEN = (Source.DEQUEUE, Source.DEQUEUE_SCALAR)
_CONTROL = tuple(each for each in Opcode if each <= Opcode.LOOP)
_TARGETS = tuple(each for each in _CONTROL if each not in (Opcode.HALT, Opcode.JUMP_TOKEN))
_TO_MASK = (Opcode.FIRST_LANES, Opcode.LANES)
_COMPARISONS = (Opcode.FLESS, Opcode.FLESS_EQUAL, Opcode.FEQUAL)
_ACROSS = (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN, Opcode.EXTRACT)
_MEMORY = (Opcode.LOAD, Opcode.STORE, Opcode.PREFETCH)


def decode(instructions: npt.NDArray[np.uint32], lanes: int) -> npt.NDArray[np.int64]:
    """The table, int64 [n, columns], of ``instructions``, uint32 [n, 3]."""
    opcode = _field(instructions, INSTRUCTION, "opcode")
    immediate = _field(instructions, INSTRUCTION, "immediate")
    is_memory, is_across = np.isin(opcode, _MEMORY), np.isin(opcode, _ACROSS)
    is_scalar = np.isin(opcode, (*_CONTROL, *_TO_MASK))
    is_wide = (_field(instructions, INSTRUCTION, "vector") == 1) & ~is_scalar | is_across

    table = np.zeros((len(instructions), OFFSET + 1), np.int64)
    taken = np.zeros((len(instructions), 3), np.int64)
    is_none = ~np.isin(opcode, list(Opcode))
    for column, name in ((A, "a"), (B, "b"), (C, "c")):
        place = INSTRUCTION[name].offset
        source = _field(instructions, OPERAND, "source", place)
        index = _field(instructions, OPERAND, "index", place)
        takes_lanes = is_wide & ~(is_memory & (column == A))
        registers = np.where(takes_lanes, VECTORS, SCALARS) + index
        by_source = np.broadcast_arrays(ZERO, registers, SCALARS + index, TAKEN, TAKEN, IMMEDIATE)
        table[:, column] = np.choose(np.minimum(source, max(Source)), by_source)
        words = np.where(takes_lanes & (source == Source.DEQUEUE), lanes, 1)
        taken[:, column - A] = np.isin(source, _TAKEN) * words
        is_none |= source > max(Source)
        if column == A:
            is_register = np.isin(source, (Source.REGISTER, Source.SCALAR))
            table[:, INCREMENTED] = np.where(is_memory & is_register, SCALARS + index, NOWHERE)

    is_beyond = np.isin(opcode, _TARGETS) & (immediate >= len(instructions))
    is_none |= np.count_nonzero(taken, axis=1) > 1
    table[:, OPCODE] = opcode
    table[is_beyond, FAULT] = Fault.CONTROL
    table[is_none, FAULT] = Fault.ENCODING
    table[:, WIDTH] = np.where(is_wide & (opcode != Opcode.PREFETCH), lanes, 1)
    table[:, TAKES] = taken.sum(axis=1)
    table[:, DST] = _results(opcode, is_wide, _field(instructions, INSTRUCTION, "dst"))
    table[:, MASK] = np.where(is_wide, _field(instructions, INSTRUCTION, "mask"), 0)
    table[:, INCREMENT] = _field(instructions, INSTRUCTION, "increment")
    table[:, OFFSET] = immediate
    return table


def _results(
    opcode: npt.NDArray[np.int64], is_wide: npt.NDArray[np.bool_], dst: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Rows of results. There are fewer mask registers than their numbers, and 0 is not written."""
    mask = dst % MASK_REGISTERS
    return np.select(
        [
            np.isin(opcode, (*_CONTROL, Opcode.STORE, Opcode.PREFETCH)),
            np.isin(opcode, _TO_MASK) | np.isin(opcode, _COMPARISONS) & is_wide,
            is_wide & ~np.isin(opcode, _ACROSS),
        ],
        [NOWHERE, np.where(mask == 0, NOWHERE, MASKS + mask), VECTORS + dst],
        SCALARS + dst,
    )


def _field(
    words: npt.NDArray[np.uint32], layout: data.StructLayout, name: str, place: int = 0
) -> npt.NDArray[np.int64]:
    """A field, by its name, of a layout that begins at bit ``place``; it may cross a word's end."""
    field = layout[name]
    shape = Shape.cast(field.shape)
    word, shift = divmod(place + field.offset, 32)
    low = words[:, word].astype(np.int64)
    high = words[:, word + 1].astype(np.int64) if shift + shape.width > 32 else np.int64(0)
    value = (low >> shift | high << (32 - shift)) & (1 << shape.width) - 1
    return value - (value >> shape.width - 1 << shape.width) if shape.signed else value

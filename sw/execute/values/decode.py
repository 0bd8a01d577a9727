"""Instructions of the execute unit as a table, for its interpreter.

Operands and results are rows of one array of registers, in which scalar registers, the immediate
and a dequeued word have their value in all lanes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import (
    ALL_LANES,
    MASK_REGISTERS,
    TARGETS,
    Fault,
    Opcode,
    Source,
)
from gnarl.sw.execute.fields import Fields
from gnarl.sw.execute.values.loop import (
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
_TO_MASK = (Opcode.FIRST_LANES, Opcode.LANES)
_COMPARISONS = (Opcode.FLESS, Opcode.FLESS_EQUAL, Opcode.FEQUAL)
_ACROSS = (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN, Opcode.EXTRACT)
_MEMORY = (Opcode.LOAD, Opcode.STORE, Opcode.PREFETCH)


def decode(fields: Fields, lanes: int) -> npt.NDArray[np.int64]:
    """The table, int64 [n, columns], of n instructions."""
    opcode, immediate = fields.opcode, fields.immediate
    is_memory, is_across = np.isin(opcode, _MEMORY), np.isin(opcode, _ACROSS)
    is_scalar = np.isin(opcode, (*_CONTROL, *_TO_MASK))
    is_wide = (fields.vector == 1) & ~is_scalar | is_across

    table = np.zeros((len(opcode), OFFSET + 1), np.int64)
    taken = np.zeros((len(opcode), 3), np.int64)
    is_none = ~np.isin(opcode, list(Opcode))
    for number, column in enumerate((A, B, C)):
        source, index = fields.sources[number], fields.indices[number]
        takes_lanes = is_wide & ~(is_memory & (column == A))
        registers = np.where(takes_lanes, VECTORS, SCALARS) + index
        by_source = np.broadcast_arrays(ZERO, registers, SCALARS + index, TAKEN, TAKEN, IMMEDIATE)
        table[:, column] = np.choose(np.minimum(source, max(Source)), by_source)
        words = np.where(takes_lanes & (source == Source.DEQUEUE), lanes, 1)
        taken[:, number] = np.isin(source, _TAKEN) * words
        is_none |= source > max(Source)
        if column == A:
            is_register = np.isin(source, (Source.REGISTER, Source.SCALAR))
            table[:, INCREMENTED] = np.where(is_memory & is_register, SCALARS + index, NOWHERE)

    is_beyond = np.isin(opcode, TARGETS) & (immediate >= len(opcode))
    is_none |= np.count_nonzero(taken, axis=1) > 1
    table[:, OPCODE] = opcode
    table[is_beyond, FAULT] = Fault.CONTROL
    table[is_none, FAULT] = Fault.ENCODING
    works_on_all = is_wide & (opcode != Opcode.PREFETCH)
    table[:, WIDTH] = np.where(works_on_all, lanes, 1)
    table[:, TAKES] = taken.sum(axis=1)
    table[:, DST] = _results(opcode, is_wide, fields.dst)
    table[:, MASK] = np.where(works_on_all, fields.mask, ALL_LANES)
    table[:, INCREMENT] = fields.increment
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

"""The core's instructions as a table: what decides when each issues.

Source: ``gnarl.hw.lib.execute``: ``decoded``, ``issue``, ``result_bus``.
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import (
    CONTROL,
    FLOAT_STAGES,
    INTEGERS,
    MASK_REGISTERS,
    SCALAR_REGISTERS,
    Opcode,
    Source,
)
from gnarl.hw.lib.encoding.execute_times import INTEGER_CYCLES, QUOTIENT_CYCLES, ROOT_CYCLES
from gnarl.sw.execute.fields import Fields, Numbers

(
    A,
    B,
    C,
    DST,
    MASK,
    COMPARED,
    PATH,
    RESULT,
    SLOTS,
    DIVIDES,
    MEMORY,
    STEERS,
    HOLDS,
    HALTS,
) = range(14)
"""Columns. Registers that must not be under way: those of operands, and that of the result, or
``NONE``. The mask register that it reads; the one that it writes a cycle late. How its result comes
to the result bus; cycles from issue until the bus has it, and how many of the bus it takes,
``FLOAT_STAGES`` from each other, the last for the result; cycles until the divider has it, or 0;
its use of memory. Whether what follows is not sure before it is in the stage after issue; whether
it waits for such ones before it; whether it is ``HALT``."""

NONE = -1

VECTORS = SCALAR_REGISTERS
"""Scalar register n is n, vector register n is ``VECTORS`` + n."""

LATER, INTEGER, ADD, OTHER_FLOAT, MULTIPLY_ADD, TREE = range(6)
"""Paths: at another time or never; integer units of lanes; adders; other units of as many stages;
multipliers, then adders; adders again and again."""

LOADS, STORES, PREFETCHES = range(1, 4)

_ADD = (Opcode.FADD, Opcode.FSUB, Opcode.FMIN, Opcode.FMAX)
_OTHER_FLOAT = (Opcode.FMUL, Opcode.TO_FLOAT, Opcode.MUL)
_TREE = (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN)
_ACROSS = (*_TREE, Opcode.EXTRACT)
_MASKS = (Opcode.FIRST_LANES, Opcode.LANES)
_COMPARISONS = (Opcode.FLESS, Opcode.FLESS_EQUAL, Opcode.FEQUAL)
_BRANCHES = (Opcode.BRANCH_EQ, Opcode.BRANCH_NE, Opcode.BRANCH_LT, Opcode.BRANCH_GE)
_MEMORY = (Opcode.LOAD, Opcode.STORE, Opcode.PREFETCH)

_TO_LANES = 2
"""Cycles from issue to the lanes, and so to the divider."""


def timing_table(fields: Fields, lanes: int) -> Numbers:
    """int64 [n, columns]; instructions that fault at their bits are as any."""
    opcode = fields.opcode

    def is_one(*opcodes: Opcode) -> np.ndarray:
        return np.isin(opcode, opcodes)

    is_memory, is_across, is_root = is_one(*_MEMORY), is_one(*_ACROSS), is_one(Opcode.FSQRT)
    is_wide = (fields.vector == 1) & ~is_one(*CONTROL, *_MASKS) | is_across
    at_once = is_one(*INTEGERS, *_COMPARISONS) & ~is_wide
    path = np.select(
        [
            is_one(*_ADD),
            is_one(*_OTHER_FLOAT),
            is_one(Opcode.FMUL_ADD),
            is_one(*_TREE),
            is_one(Opcode.EXTRACT) | is_one(*INTEGERS) & is_wide,
        ],
        [ADD, OTHER_FLOAT, MULTIPLY_ADD, TREE, INTEGER],
        LATER,
    )
    divides = is_one(Opcode.FDIV) | is_root
    writes = (path != LATER) | is_one(Opcode.LOAD) | divides | at_once
    to_vector = is_wide & ~is_across
    roots = (ROOT_CYCLES + 1) * np.where(is_wide, lanes, 1) + 1
    levels = (lanes - 1).bit_length()
    passes = np.select([path == MULTIPLY_ADD, path == TREE], [2, levels], 1)
    result = np.where(path == INTEGER, INTEGER_CYCLES, 2 + passes * FLOAT_STAGES)

    table = np.zeros((len(opcode), HALTS + 1), np.int64)
    for number, column in enumerate((A, B, C)):
        source, index = fields.sources[number], fields.indices[number]
        takes_vectors = is_wide & ~(is_memory & (column == A))
        table[:, column] = np.select(
            [(source == Source.REGISTER) & takes_vectors, _is_register(source)],
            [VECTORS + index, index],
            NONE,
        )
    table[:, B] = np.where(is_one(Opcode.STORE), table[:, C], table[:, B])
    table[:, DST] = np.where(writes, fields.dst + VECTORS * to_vector, NONE)
    reads_mask = (is_memory | is_across | is_one(Opcode.SELECT)) & is_wide
    table[:, MASK] = np.where(reads_mask, fields.mask, NONE)
    compares = is_one(*_COMPARISONS) & is_wide
    table[:, COMPARED] = np.where(compares, fields.dst % MASK_REGISTERS, NONE)
    table[:, PATH] = path
    table[:, RESULT] = result
    table[:, SLOTS] = np.select([path == LATER, path == TREE], [0, levels], 1)
    table[:, DIVIDES] = np.where(divides, _TO_LANES + np.where(is_root, roots, QUOTIENT_CYCLES), 0)
    table[:, MEMORY] = np.select([opcode == each for each in _MEMORY], range(1, 4), 0)
    table[:, STEERS] = is_one(Opcode.HALT, Opcode.LOOP, *_BRANCHES)
    table[:, HOLDS] = is_one(Opcode.JUMP, Opcode.JUMP_TOKEN, Opcode.LOOP)
    table[:, HALTS] = is_one(Opcode.HALT)
    return table


def _is_register(source: Numbers) -> np.ndarray:
    return np.isin(source, (Source.REGISTER, Source.SCALAR))

"""The core's instructions as a table, for the estimate of their time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hw.lib.execute_isa import CONTROL, INTEGERS, Instruction, Opcode, Operand, Source

(
    OPCODE,
    KIND,
    IS_WIDE,
    DST,
    MASK,
    A,
    B,
    C,
    INCREMENT,
    IMMEDIATE,
    STEERS,
) = range(11)
"""Columns: the opcode; what it is to its time; whether it works on all lanes; its registers and
operands; what is added to an address's register; its immediate, signed; whether what follows is not
sure before it is in the stage after issue."""

(
    PLAIN,
    INTEGER,
    ADD,
    MULTIPLY,
    MULTIPLY_ADD,
    DIVIDE,
    TREE,
    EXTRACT,
    COMPARE,
    SET_MASK,
    MEMORY,
) = range(11)
"""Kinds: control; integers and choice; float adders; other units of as many stages; multipliers and
adders; the divider; sums of lanes; a lane; comparison; masks from scalars; memory."""

SCALARS, VECTORS, NONE, ANY = 0, 32, 64, 65
"""Operands: register n of either kind is ``SCALARS`` or ``VECTORS`` + n; 0; the immediate."""

_KINDS = {
    ADD: (Opcode.FADD, Opcode.FSUB, Opcode.FMIN, Opcode.FMAX),
    MULTIPLY: (Opcode.FMUL, Opcode.MUL, Opcode.TO_FLOAT),
    MULTIPLY_ADD: (Opcode.FMUL_ADD,),
    DIVIDE: (Opcode.FDIV, Opcode.FSQRT),
    TREE: (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN),
    EXTRACT: (Opcode.EXTRACT,),
    COMPARE: (Opcode.FLESS, Opcode.FLESS_EQUAL, Opcode.FEQUAL),
    SET_MASK: (Opcode.FIRST_LANES, Opcode.LANES),
    MEMORY: (Opcode.LOAD, Opcode.STORE, Opcode.PREFETCH),
    INTEGER: INTEGERS,
}
_KIND_OF = {opcode: kind for kind, opcodes in _KINDS.items() for opcode in opcodes}
_ACROSS = (*_KINDS[TREE], *_KINDS[EXTRACT])
_STEERING = (
    Opcode.HALT,
    Opcode.LOOP,
    Opcode.BRANCH_EQ,
    Opcode.BRANCH_NE,
    Opcode.BRANCH_LT,
    Opcode.BRANCH_GE,
)


def core_table(instructions: Sequence[Instruction]) -> np.ndarray:
    """int64 [instructions, columns]."""
    return np.array([_row(each) for each in instructions], np.int64).reshape(-1, STEERS + 1)


def _row(given: Instruction) -> tuple[int, ...]:
    opcode = given.opcode
    kind = _KIND_OF.get(opcode, PLAIN)
    is_wide = opcode in _ACROSS or (
        given.vector and opcode not in CONTROL and kind != SET_MASK and opcode != Opcode.PREFETCH
    )
    immediate = (given.immediate + (1 << 31)) % (1 << 32) - (1 << 31)
    return (
        opcode,
        kind,
        is_wide,
        given.dst,
        given.mask if is_wide else 0,
        _operand(given.a, is_wide and kind != MEMORY),
        _operand(given.b, is_wide),
        _operand(given.c, is_wide),
        given.increment,
        immediate,
        opcode in _STEERING,
    )


def _operand(given: Operand, is_vector: bool) -> int:
    if given.source == Source.REGISTER and is_vector:
        return VECTORS + given.index
    if given.source in (Source.REGISTER, Source.SCALAR):
        return SCALARS + given.index
    return ANY if given.source == Source.IMMEDIATE else NONE

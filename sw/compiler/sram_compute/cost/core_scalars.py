"""Programs of the core without what they compute on data: their scalar integers, for loops and
addresses. Words from memory count as 0, and comparisons of vectors find all lanes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hw.lib.execute_isa import (
    CONTROL,
    LOOP_DEPTH,
    MASK_REGISTERS,
    SCALAR_REGISTERS,
    Opcode,
    Source,
)
from sw.execute_timing.fields import Fields, Numbers
from sw.execute_timing.trace import (
    ENDS_BODY,
    FLAGS,
    INSTRUCTION,
    MOST_LANES,
    REQUEST,
    TURNS,
)
from sw.program.jit import in_place, inner

(
    _OPCODE,
    _IS_WIDE,
    _DST,
    _MASK,
    _A,
    _B,
    _C,
    _INCREMENT,
    _IMMEDIATE,
) = range(9)
"""Columns: operands are scalar registers, or ``_ANY``, the immediate, or ``_NONE``."""

_ANY, _NONE = SCALAR_REGISTERS, SCALAR_REGISTERS + 1

_DEPTH, _PC = range(2)
_FIRST, _LAST, _LEFT = range(3)

_ACROSS = (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN, Opcode.EXTRACT)
_MASKS = (Opcode.FIRST_LANES, Opcode.LANES)

_HALT, _JUMP, _LOOP = Opcode.HALT.value, Opcode.JUMP.value, Opcode.LOOP.value
_BRANCH_EQ, _BRANCH_NE = Opcode.BRANCH_EQ.value, Opcode.BRANCH_NE.value
_BRANCH_LT, _BRANCH_GE = Opcode.BRANCH_LT.value, Opcode.BRANCH_GE.value
_FLESS, _FEQUAL = Opcode.FLESS.value, Opcode.FEQUAL.value
_SELECT, _FIRST_LANES, _LANES = (
    Opcode.SELECT.value,
    Opcode.FIRST_LANES.value,
    Opcode.LANES.value,
)
_LOAD, _PREFETCH = Opcode.LOAD.value, Opcode.PREFETCH.value
_ADD, _SUB, _MUL, _LESS = (each.value for each in (Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.LESS))
_AND, _OR, _XOR = Opcode.AND.value, Opcode.OR.value, Opcode.XOR.value
_SHIFT_LEFT, _SHIFT_RIGHT = Opcode.SHIFT_LEFT.value, Opcode.SHIFT_RIGHT.value
_MIN, _MAX = Opcode.MIN.value, Opcode.MAX.value


class Scalars(NamedTuple):
    """values
        int64 [scalars].
    masks
        int64 [masks]: their lanes.
    loops
        int64 [``LOOP_DEPTH``, 3]: first and last instruction, iterations left.
    at
        int64: loops that run, and the next instruction.
    """

    values: np.ndarray
    masks: np.ndarray
    loops: np.ndarray
    at: np.ndarray


def begin(lanes: int) -> Scalars:
    """Before the first instruction."""
    return Scalars(
        np.zeros(SCALAR_REGISTERS, np.int64),
        np.full(MASK_REGISTERS, (1 << lanes) - 1, np.int64),
        np.zeros((LOOP_DEPTH, 3), np.int64),
        np.zeros(2, np.int64),
    )


def scalar_table(fields: Fields) -> Numbers:
    """int64 [n, columns]."""
    is_wide = (fields.vector == 1) & ~np.isin(fields.opcode, (*CONTROL, *_MASKS))
    is_wide |= np.isin(fields.opcode, _ACROSS)
    is_memory = fields.opcode >= _LOAD
    table = np.zeros((len(fields.opcode), _IMMEDIATE + 1), np.int64)
    for number, column in enumerate((_A, _B, _C)):
        source = fields.sources[number]
        is_scalar = ~is_wide | is_memory if column == _A else ~is_wide
        is_register = (source == Source.SCALAR) | (source == Source.REGISTER) & is_scalar
        table[:, column] = np.select(
            [is_register, source == Source.IMMEDIATE], [fields.indices[number], _ANY], _NONE
        )
    table[:, _OPCODE], table[:, _DST] = fields.opcode, fields.dst
    table[:, _IS_WIDE] = is_wide & (fields.opcode != _PREFETCH)
    table[:, _MASK] = np.where(table[:, _IS_WIDE], fields.mask, 0)
    table[:, _INCREMENT] = fields.increment
    table[:, _IMMEDIATE] = (fields.immediate + (1 << 31)) % (1 << 32) - (1 << 31)
    return table


@in_place
def follow(table: np.ndarray, scalars: Scalars, lanes: int, trace: np.ndarray) -> int:
    """Does instructions until ``HALT`` or the end of ``trace``; how many."""
    values, loops, at = scalars.values, scalars.loops, scalars.at
    filled = 0
    depth, pc = at
    while filled < len(trace):
        row = table[pc]
        opcode, following, flags, request = row[_OPCODE], pc + 1, 0, 0
        if depth > 0 and pc == loops[depth - 1, _LAST]:
            flags = ENDS_BODY
        if opcode == _LOOP:
            count = _value(values, row, _A)
            if count > 0 and depth < LOOP_DEPTH:
                loops[depth, _FIRST], loops[depth, _LAST] = pc + 1, row[_IMMEDIATE] - 1
                loops[depth, _LEFT] = count
                depth += 1
            else:
                following, flags = row[_IMMEDIATE], TURNS
        elif opcode == _JUMP:
            following = row[_IMMEDIATE]
        elif _BRANCH_EQ <= opcode <= _BRANCH_GE:
            if _is_taken(values, row):
                following, flags = row[_IMMEDIATE], TURNS
        elif opcode >= _LOAD:
            request = _access(scalars, row, lanes)
        elif opcode > _LOOP:
            _compute(scalars, row, lanes)

        trace[filled, INSTRUCTION], trace[filled, REQUEST] = pc * FLAGS + flags, request
        filled += 1
        if opcode == _HALT:
            break
        if flags & ENDS_BODY:
            loops[depth - 1, _LEFT] -= 1
            if loops[depth - 1, _LEFT]:
                following = loops[depth - 1, _FIRST]
            else:
                depth -= 1
        elif opcode == _JUMP or flags & TURNS:
            while depth and not loops[depth - 1, _FIRST] <= following <= loops[depth - 1, _LAST]:
                depth -= 1
        pc = following
    at[_DEPTH], at[_PC] = depth, pc
    return filled


@inner
def _value(values: np.ndarray, row: np.ndarray, column: int) -> int:
    operand = row[column]
    if operand < SCALAR_REGISTERS:
        return values[operand]
    return row[_IMMEDIATE] if operand == _ANY else 0


@inner
def _is_taken(values: np.ndarray, row: np.ndarray) -> bool:
    opcode, a, b = row[_OPCODE], _value(values, row, _A), _value(values, row, _B)
    if opcode == _BRANCH_EQ:
        return a == b
    if opcode == _BRANCH_NE:
        return a != b
    return a < b if opcode == _BRANCH_LT else a >= b


@inner
def _access(scalars: Scalars, row: np.ndarray, lanes: int) -> int:
    """The request of an instruction of memory, as in a trace."""
    values, is_wide = scalars.values, row[_IS_WIDE]
    address = _value(values, row, _A) + row[_IMMEDIATE] & 0xFFFF_FFFF
    wanted = scalars.masks[row[_MASK]] & (1 << lanes) - 1 if is_wide else 1
    if row[_A] < SCALAR_REGISTERS:
        values[row[_A]] += row[_INCREMENT]
    if row[_OPCODE] == _LOAD and not is_wide:
        values[row[_DST]] = 0
    return address << MOST_LANES | wanted


@inner
def _compute(scalars: Scalars, row: np.ndarray, lanes: int) -> None:
    """Writes a scalar register, which is 0 for all but integers, or a mask."""
    opcode, dst, all_lanes = row[_OPCODE], row[_DST], (1 << lanes) - 1
    mask = dst % MASK_REGISTERS
    if opcode == _FIRST_LANES or opcode == _LANES:
        found = _value(scalars.values, row, _A)
        if opcode == _FIRST_LANES:
            found = (1 << max(0, min(lanes, found))) - 1
        if mask:
            scalars.masks[mask] = found & all_lanes
    elif row[_IS_WIDE] and _FLESS <= opcode <= _FEQUAL:
        if mask:
            scalars.masks[mask] = all_lanes
    elif not row[_IS_WIDE] or opcode > _SELECT:
        scalars.values[dst] = _integer(scalars.values, row)


@inner
def _integer(values: np.ndarray, row: np.ndarray) -> int:
    """The result of integers; 0 for others."""
    opcode, a, b = row[_OPCODE], _value(values, row, _A), _value(values, row, _B)
    found = 0
    if opcode == _ADD:
        found = a + b
    elif opcode == _SUB:
        found = a - b
    elif opcode == _MUL:
        found = a * b
    elif opcode == _AND:
        found = a & b
    elif opcode == _OR:
        found = a | b
    elif opcode == _XOR:
        found = a ^ b
    elif opcode == _SHIFT_LEFT:
        found = a << (b & 31)
    elif opcode == _SHIFT_RIGHT:
        found = a >> (b & 31)
    elif opcode == _MIN:
        found = min(a, b)
    elif opcode == _MAX:
        found = max(a, b)
    elif opcode == _LESS:
        found = 1 if a < b else 0
    elif opcode == _SELECT:
        found = a if _value(values, row, _C) != 0 else b
    return (found + (1 << 31) & 0xFFFF_FFFF) - (1 << 31)

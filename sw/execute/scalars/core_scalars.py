"""Programs of the core as far as scalars go, which decide about loops, branches and addresses.

Elements of vectors are not computed: comparisons of vectors find all lanes, scalars that come from
them are 0, and branches on these are taken or not by chance, always the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import (
    CONTROL,
    LOOP_DEPTH,
    MASK_REGISTERS,
    SCALAR_REGISTERS,
    Opcode,
    Source,
)
from gnarl.sw.execute.fields import Fields, Numbers
from gnarl.sw.execute.scalars.core_memory import DATA, NUMBER, UNKNOWN, CoreMemory
from gnarl.sw.execute.scalars.scalar_arithmetic import SCRATCH, scalar_result
from gnarl.sw.execute.trace import (
    ENDS_BODY,
    FLAGS,
    INSTRUCTION,
    MOST_LANES,
    REQUEST,
    TURNS,
)
from gnarl.sw.program.jit import in_place, inner

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

_FIRST, _LAST, _LEFT = range(3)

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
_LOAD, _STORE, _PREFETCH = Opcode.LOAD.value, Opcode.STORE.value, Opcode.PREFETCH.value

_DEPTH, _PC, _DECIDES, _CHANCE = range(4)
_FACTOR, _ADDEND, _PERIOD = 1103515245, 12345, 1 << 31
"""Parameters of a linear congruential generator."""


class Scalars(NamedTuple):
    """What is known of the core's scalars.

    values
        int64 [scalars].
    masks
        int64 [masks]: their lanes.
    loops
        int64 [``LOOP_DEPTH``, 3]: first and last instruction, iterations left.
    words, word_kinds, bounds
        of a ``CoreMemory``.
    scratch
        uint32 [``SCRATCH``, 1], of ``scalar_result``.
    at
        int64: loops that run, the next instruction, whether data decided about a branch or a
        loop, and what chance has drawn last.
    """

    values: np.ndarray
    kinds: np.ndarray
    masks: np.ndarray
    loops: np.ndarray
    words: np.ndarray
    word_kinds: np.ndarray
    bounds: np.ndarray
    scratch: np.ndarray
    at: np.ndarray


def begin(lanes: int, memory: CoreMemory) -> Scalars:
    """The scalars before the first instruction. Stores change ``memory``."""
    return Scalars(
        np.zeros(SCALAR_REGISTERS, np.int64),
        np.full(SCALAR_REGISTERS, NUMBER, np.uint8),
        np.full(MASK_REGISTERS, (1 << lanes) - 1, np.int64),
        np.zeros((LOOP_DEPTH, 3), np.int64),
        memory.words,
        memory.kinds,
        memory.bounds,
        np.zeros((SCRATCH, 1), np.uint32),
        np.zeros(4, np.int64),
    )


def is_decided_by_data(scalars: Scalars) -> bool:
    """Whether words of memory have decided about a branch, or how often a loop runs."""
    return bool(scalars.at[_DECIDES])


def scalar_table(fields: Fields) -> Numbers:
    """int64 [n, columns]."""
    is_wide = (fields.vector == 1) & ~np.isin(fields.opcode, (*CONTROL, *_MASKS))
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
    depth, pc = at[_DEPTH], at[_PC]
    while filled < len(trace):
        row = table[pc]
        opcode, following, flags, request = row[_OPCODE], pc + 1, 0, 0
        if depth > 0 and pc == loops[depth - 1, _LAST]:
            flags = ENDS_BODY
        if opcode == _LOOP:
            count = _value(values, row, _A)
            at[_DECIDES] |= _kind(scalars.kinds, row, _A) == DATA
            if count > 0 and depth < LOOP_DEPTH:
                loops[depth, _FIRST], loops[depth, _LAST] = pc + 1, row[_IMMEDIATE] - 1
                loops[depth, _LEFT] = count
                depth += 1
            else:
                following, flags = row[_IMMEDIATE], TURNS
        elif opcode == _JUMP:
            following = row[_IMMEDIATE]
        elif _BRANCH_EQ <= opcode <= _BRANCH_GE:
            if _is_taken(scalars, row):
                following, flags = row[_IMMEDIATE], TURNS
        elif opcode >= _LOAD:
            request = _access(scalars, row, lanes)
        elif opcode > _LOOP:
            _compute(scalars, row, lanes)

        trace[filled, INSTRUCTION], trace[filled, REQUEST] = pc * FLAGS + flags, request
        filled += 1
        if opcode == _HALT:
            break
        pc, depth = _next(opcode, flags, following, loops, depth)
    at[_DEPTH], at[_PC] = depth, pc
    return filled


@inner
def _next(
    opcode: int, flags: int, following: int, loops: np.ndarray, depth: int
) -> tuple[int, int]:
    """The instruction that comes next, and the loops that run there."""
    if flags & ENDS_BODY:
        loops[depth - 1, _LEFT] -= 1
        if loops[depth - 1, _LEFT]:
            return loops[depth - 1, _FIRST], depth
        return following, depth - 1
    if opcode == _JUMP or flags & TURNS:
        while depth and not loops[depth - 1, _FIRST] <= following <= loops[depth - 1, _LAST]:
            depth -= 1
    return following, depth


@inner
def _value(values: np.ndarray, row: np.ndarray, column: int) -> int:
    operand = row[column]
    if operand < SCALAR_REGISTERS:
        return values[operand]
    return row[_IMMEDIATE] if operand == _ANY else 0


@inner
def _kind(kinds: np.ndarray, row: np.ndarray, column: int) -> int:
    operand = row[column]
    return kinds[operand] if operand < SCALAR_REGISTERS else NUMBER


@inner
def _draw(at: np.ndarray, count: int) -> int:
    """A pseudo-random number from 0 to ``count`` - 1."""
    at[_CHANCE] = (at[_CHANCE] * _FACTOR + _ADDEND) % _PERIOD
    return (at[_CHANCE] >> 8) % count


@inner
def _is_taken(scalars: Scalars, row: np.ndarray) -> bool:
    values, opcode = scalars.values, row[_OPCODE]
    kind = max(_kind(scalars.kinds, row, _A), _kind(scalars.kinds, row, _B))
    if kind == UNKNOWN:
        return _draw(scalars.at, 2) == 1
    scalars.at[_DECIDES] |= kind == DATA
    a, b = _value(values, row, _A), _value(values, row, _B)
    if opcode == _BRANCH_EQ:
        return a == b
    if opcode == _BRANCH_NE:
        return a != b
    return a < b if opcode == _BRANCH_LT else a >= b


@inner
def _access(scalars: Scalars, row: np.ndarray, lanes: int) -> int:
    """The request of an instruction of memory, as in a trace. An address that data decide is any of
    the same array."""
    values, is_wide = scalars.values, row[_IS_WIDE]
    address = _value(values, row, _A) + row[_IMMEDIATE] & 0xFFFF_FFFF
    wanted = scalars.masks[row[_MASK]] & (1 << lanes) - 1 if is_wide else 1
    kind = _kind(scalars.kinds, row, _A)
    if row[_A] < SCALAR_REGISTERS:
        values[row[_A]] += row[_INCREMENT]
    is_there = address < len(scalars.words) and kind != UNKNOWN
    if row[_OPCODE] == _LOAD and not is_wide:
        value = np.int64(np.int32(scalars.words[address])) if is_there else np.int64(0)
        values[row[_DST]] = value
        scalars.kinds[row[_DST]] = scalars.word_kinds[address] if is_there else UNKNOWN
    elif row[_OPCODE] == _STORE and is_there:
        _store(scalars, row, address, wanted, lanes)
    if kind != NUMBER and is_there:
        address = _any_of_the_array(scalars, address)
    return address << MOST_LANES | wanted


@inner
def _store(scalars: Scalars, row: np.ndarray, address: int, wanted: int, lanes: int) -> None:
    if not row[_IS_WIDE]:
        scalars.words[address] = np.uint32(_value(scalars.values, row, _C) & 0xFFFF_FFFF)
        kind = _kind(scalars.kinds, row, _C)
        scalars.word_kinds[address] = max(kind, DATA)
        return
    for lane in range(lanes):
        if wanted >> lane & 1 and address + lane < len(scalars.words):
            scalars.word_kinds[address + lane] = UNKNOWN


@inner
def _any_of_the_array(scalars: Scalars, address: int) -> int:
    """A word of the array that has the word at ``address``."""
    bounds, array = scalars.bounds, 0
    while array + 2 < len(bounds) and bounds[array + 1] <= address:
        array += 1
    first = bounds[array]
    return first + _draw(scalars.at, max(1, bounds[array + 1] - first))


@inner
def _compute(scalars: Scalars, row: np.ndarray, lanes: int) -> None:
    """Writes a scalar register, or a mask."""
    opcode, dst, all_lanes = row[_OPCODE], row[_DST], (1 << lanes) - 1
    mask = dst % MASK_REGISTERS
    if opcode == _FIRST_LANES or opcode == _LANES:
        value = _value(scalars.values, row, _A)
        if opcode == _FIRST_LANES:
            value = (1 << max(0, min(lanes, value))) - 1
        if mask:
            scalars.masks[mask] = value & all_lanes
    elif row[_IS_WIDE] and _FLESS <= opcode <= _FEQUAL:
        if mask:
            scalars.masks[mask] = all_lanes
    elif opcode > _SELECT:
        scalars.values[dst], scalars.kinds[dst] = 0, UNKNOWN
    elif not row[_IS_WIDE]:
        values, kinds = scalars.values, scalars.kinds
        kind = max(_kind(kinds, row, _A), _kind(kinds, row, _B), _kind(kinds, row, _C))
        a, b, c = _value(values, row, _A), _value(values, row, _B), _value(values, row, _C)
        values[dst] = scalar_result(opcode, a, b, c, scalars.scratch) if kind != UNKNOWN else 0
        kinds[dst] = kind

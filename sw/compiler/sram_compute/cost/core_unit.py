"""The core's registers and units, as far as they decide when an instruction issues.

Source: ``hw.lib.execute``: ``execute_unit``, ``issue``, ``result_bus``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hw.lib.execute_isa import FLOAT_STAGES, MASK_REGISTERS, Opcode
from sw.compiler.sram_compute.cost.core_table import (
    ADD,
    ANY,
    COMPARE,
    DIVIDE,
    DST,
    EXTRACT,
    IMMEDIATE,
    INTEGER,
    IS_WIDE,
    KIND,
    MASK,
    MEMORY,
    MULTIPLY,
    MULTIPLY_ADD,
    NONE,
    OPCODE,
    PLAIN,
    SET_MASK,
    TREE,
    VECTORS,
    A,
    B,
    C,
)
from sw.program.jit import compiled_inner

WAITING = 4
"""Requests that issue before the cache has taken the first of them."""

FROM_CACHE, _LOADED = 2, 1
"""Cycles from an answer of the cache until it may go to the result bus, and from then to the issue
of what needs it."""

_BUS = 128
"""Cycles of the result bus that are remembered: more than any result takes."""

_INTEGER_RESULT, _UNIT_RESULT = 3, 2
"""Cycles from issue to an integer result on the bus, and, without the units' stages, to others."""

_DIVISION = 20
_LANE_DIVISION, _LANES_DIVISION = 18, 4
"""Cycles of the divider for a scalar; for each lane of a vector, and for all besides."""

_BRANCH_EQ, _BRANCH_NE = Opcode.BRANCH_EQ.value, Opcode.BRANCH_NE.value
_BRANCH_LT, _BRANCH_GE = Opcode.BRANCH_LT.value, Opcode.BRANCH_GE.value
_SELECT = Opcode.SELECT.value
_FIRST_LANES, _LOAD = Opcode.FIRST_LANES.value, Opcode.LOAD.value
_ADD, _SUB, _MUL, _LESS = (each.value for each in (Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.LESS))
_AND, _OR, _XOR = Opcode.AND.value, Opcode.OR.value, Opcode.XOR.value
_SHIFT_LEFT, _SHIFT_RIGHT = Opcode.SHIFT_LEFT.value, Opcode.SHIFT_RIGHT.value
_MIN, _MAX = Opcode.MIN.value, Opcode.MAX.value


class Unit(NamedTuple):
    """ready, as_sum, as_addend
        int64 [registers]: from when on each can be read; as a, by adders; as c of ``FMUL_ADD``.
    masks, mask_ready
        int64 [masks]: their lanes, and from when on.
    values
        int64 [scalars].
    bus
        int64 [``_BUS``]: the last cycle of that number, modulo, that is taken.
    loads, loaded
        int64 [n]: of each load under way the cycle from which on it may go to the bus, else -1, and
        its register.
    requests
        int64 [n]: when the last requests left for the cache.
    """

    ready: np.ndarray
    as_sum: np.ndarray
    as_addend: np.ndarray
    masks: np.ndarray
    mask_ready: np.ndarray
    values: np.ndarray
    bus: np.ndarray
    loads: np.ndarray
    loaded: np.ndarray
    requests: np.ndarray


@compiled_inner
def new_unit(lanes: int, loads: int) -> Unit:
    """As a program finds it, with ``loads`` tags."""
    registers = 2 * VECTORS
    return Unit(
        np.zeros(registers, np.int64),
        np.zeros(registers, np.int64),
        np.zeros(registers, np.int64),
        np.full(MASK_REGISTERS, (1 << lanes) - 1, np.int64),
        np.zeros(MASK_REGISTERS, np.int64),
        np.zeros(VECTORS, np.int64),
        np.full(_BUS, -1, np.int64),
        np.full(loads, -1, np.int64),
        np.zeros(loads, np.int64),
        np.full(WAITING, -1, np.int64),
    )


@compiled_inner
def value(unit: Unit, row: np.ndarray, column: int) -> int:
    operand = row[column]
    if operand < VECTORS:
        return unit.values[operand]
    return row[IMMEDIATE] if operand == ANY else 0


@compiled_inner
def operands_ready(unit: Unit, row: np.ndarray, cycle: int) -> int:
    """The first cycle from this one on in which all that an instruction reads is there, and what it
    writes is not under way."""
    kind, dst = row[KIND], row[DST]
    if row[IS_WIDE] and kind != TREE and kind != EXTRACT:
        dst += VECTORS
    writes = kind != PLAIN and kind != SET_MASK and (kind != MEMORY or row[OPCODE] == _LOAD)
    writes &= kind != COMPARE or not row[IS_WIDE]
    after = _ready(unit, dst) if writes else 0
    for column in (A, B, C):
        operand = row[column]
        if operand < NONE:
            ready = _ready(unit, operand)
            if kind == ADD and column == A and operand >= VECTORS and operand != row[B]:
                ready = unit.as_sum[operand] if cycle <= unit.as_sum[operand] else ready
            elif kind == MULTIPLY_ADD and column == C and operand >= VECTORS:
                if operand != row[A] and operand != row[B]:
                    ready = unit.as_addend[operand]
            if operand == dst:
                after = min(after, ready)
            cycle = max(cycle, ready)
    if row[IS_WIDE]:
        cycle = max(cycle, unit.mask_ready[row[MASK]])
    return max(cycle, after)


@compiled_inner
def _ready(unit: Unit, register: int) -> int:
    """From when on a register can be read."""
    for tag in range(len(unit.loads)):
        while unit.loads[tag] >= 0 and unit.loaded[tag] == register:
            settle(unit)
    return unit.ready[register]


@compiled_inner
def settle_before(unit: Unit, cycle: int) -> None:
    """Loads that may go to the bus before a cycle, in which an instruction may take places."""
    while True:
        some = False
        for tag in range(len(unit.loads)):
            some |= 0 <= unit.loads[tag] < cycle
        if not some:
            return
        settle(unit)


@compiled_inner
def settle(unit: Unit) -> int:
    """Gives the first of the loads under way what instructions leave of the bus; when."""
    first = -1
    for tag in range(len(unit.loads)):
        if unit.loads[tag] >= 0 and (first < 0 or unit.loads[tag] < unit.loads[first]):
            first = tag
    cycle, at = unit.loads[first], unit.loaded[first]
    while unit.bus[(cycle + 1) % _BUS] == cycle + 1:
        cycle += 1
    unit.bus[(cycle + 1) % _BUS] = cycle + 1
    unit.loads[first] = -1
    unit.ready[at] = unit.as_sum[at] = unit.as_addend[at] = cycle + _LOADED
    return cycle


@compiled_inner
def on_bus(bus: np.ndarray, row: np.ndarray, cycle: int, levels: int) -> int:
    """The first cycle from this one on that has a place on the result bus, which is taken."""
    kind = row[KIND]
    first, step, count = 0, FLOAT_STAGES, 0
    if kind == EXTRACT or (kind == INTEGER and row[IS_WIDE]):
        first, count = _INTEGER_RESULT, 1
    elif kind == ADD or kind == MULTIPLY:
        first, count = _UNIT_RESULT + FLOAT_STAGES, 1
    elif kind == MULTIPLY_ADD:
        first, count = _UNIT_RESULT + 2 * FLOAT_STAGES, 1
    elif kind == TREE:
        first, count = _UNIT_RESULT + FLOAT_STAGES, levels
    while True:
        is_free = True
        for number in range(count):
            at = cycle + first + number * step
            is_free &= bus[at % _BUS] != at
        if is_free:
            for number in range(count):
                at = cycle + first + number * step
                bus[at % _BUS] = at
            return cycle
        cycle += 1


@compiled_inner
def compute(unit: Unit, row: np.ndarray, cycle: int, lanes: int, levels: int) -> int:
    """Writes an instruction's result; gives the cycles until it can be read."""
    kind, is_wide, dst = row[KIND], row[IS_WIDE], row[DST]
    late = 1 if is_wide else 2
    took, units = 1, 0
    if kind == PLAIN:
        return 1
    if kind == SET_MASK:
        lanes_of = value(unit, row, A)
        if row[OPCODE] == _FIRST_LANES:
            lanes_of = (1 << max(0, min(lanes, lanes_of))) - 1
        if dst:
            unit.masks[dst % MASK_REGISTERS] = lanes_of & (1 << lanes) - 1
            unit.mask_ready[dst % MASK_REGISTERS] = cycle + 1
        return 1
    if kind == COMPARE and is_wide:
        if dst:
            unit.masks[dst % MASK_REGISTERS] = (1 << lanes) - 1
            unit.mask_ready[dst % MASK_REGISTERS] = cycle + 2
        return 2
    if kind == ADD or kind == MULTIPLY:
        units = 1
    elif kind == MULTIPLY_ADD:
        units = 2
    elif kind == DIVIDE:
        took = lanes * _LANE_DIVISION + _LANES_DIVISION if is_wide else _DIVISION
    elif kind == TREE:
        took = levels * FLOAT_STAGES + 2
    elif kind == EXTRACT:
        took = 3
    elif is_wide:
        took = 2
    if units:
        took = units * FLOAT_STAGES + late
    is_vector = is_wide and kind != TREE and kind != EXTRACT
    at = VECTORS + dst if is_vector else dst
    unit.ready[at] = unit.as_sum[at] = unit.as_addend[at] = cycle + took
    if units and is_vector:
        unit.as_addend[at] = cycle + (units - 1) * FLOAT_STAGES + 1
        if kind != MULTIPLY:
            unit.as_sum[at] = cycle + units * FLOAT_STAGES
    if not is_vector:
        unit.values[dst] = _scalar(unit, row)
    return took


@compiled_inner
def _scalar(unit: Unit, row: np.ndarray) -> int:
    """The result of integers; 0 for others."""
    opcode, a, b = row[OPCODE], value(unit, row, A), value(unit, row, B)
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
        found = a if value(unit, row, C) != 0 else b
    return (found + (1 << 31) & 0xFFFF_FFFF) - (1 << 31)


@compiled_inner
def is_taken(unit: Unit, row: np.ndarray) -> bool:
    opcode = row[OPCODE]
    if opcode < _BRANCH_EQ or opcode > _BRANCH_GE:
        return False
    a, b = value(unit, row, A), value(unit, row, B)
    if opcode == _BRANCH_EQ:
        return a == b
    if opcode == _BRANCH_NE:
        return a != b
    return a < b if opcode == _BRANCH_LT else a >= b

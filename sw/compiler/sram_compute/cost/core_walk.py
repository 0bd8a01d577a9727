"""When the core's instructions issue, one after the other, without what they compute on data.

Scalar integers are followed, for loops and addresses; words from memory count as 0. Source:
``hw.lib.execute.execute_unit``.
"""

from __future__ import annotations

import numpy as np

from hw.lib.execute_isa import LOOP_DEPTH, Opcode
from hw.lib.lines.line_size import LINE_WORDS
from sw.compiler.sram_compute.cost.core_lines import Lines, drain, read, write
from sw.compiler.sram_compute.cost.core_table import (
    DIVIDE,
    DST,
    IMMEDIATE,
    INCREMENT,
    IS_WIDE,
    KIND,
    MASK,
    MEMORY,
    OPCODE,
    STEERS,
    VECTORS,
    A,
)
from sw.compiler.sram_compute.cost.core_unit import (
    FROM_CACHE,
    WAITING,
    Unit,
    compute,
    is_taken,
    new_unit,
    on_bus,
    operands_ready,
    settle,
    settle_before,
    value,
)
from sw.program.jit import compiled, compiled_inner

_START = 4
"""Cycles from a program's start to the issue of its first instruction."""

_TO_CACHE = 3
"""Cycles from a request's issue to the cache."""

_STEERED = 3
"""Cycles from the issue of a branch to that of what follows at its target; and from one that is not
taken, or a ``LOOP``, to an instruction whose successor is not the next one."""

_HALT, _JUMP, _LOOP = Opcode.HALT.value, Opcode.JUMP.value, Opcode.LOOP.value
_LOAD, _STORE = Opcode.LOAD.value, Opcode.STORE.value


@compiled
def walk(table: np.ndarray, lines: Lines, lanes: int, loads: int, limit: int) -> int:
    """Cycles from the start of a program, ``core_table``, until all that it has written is in
    memory; those until now where they are more than ``limit``. O(instructions that issue)."""
    unit = new_unit(lanes, loads)
    loops = np.zeros((LOOP_DEPTH, 3), np.int64)  # first, last, iterations left
    depth, pc, sent = 0, 0, 0
    cycle, steered, divided = _START, -_STEERED, 0
    levels = 0
    while 1 << levels < lanes:
        levels += 1
    while cycle <= limit and pc < len(table):
        row = table[pc]
        opcode, kind = row[OPCODE], row[KIND]
        is_last = depth > 0 and pc == loops[depth - 1, 1]
        if is_last or opcode == _JUMP or opcode == _LOOP:
            cycle = max(cycle, steered + _STEERED)
        settle_before(unit, cycle)
        cycle = operands_ready(unit, row, cycle)
        if kind == DIVIDE:
            cycle = max(cycle, divided)
        elif kind == MEMORY:
            cycle = max(cycle, unit.requests[sent % WAITING] + 1)
            if opcode == _LOAD:
                while unit.loads.min() >= 0:
                    cycle = max(cycle, settle(unit) + 1)
        cycle = on_bus(unit.bus, row, cycle, levels)
        if opcode == _HALT:
            break
        if kind == MEMORY:
            unit.requests[sent % WAITING] = _request(unit, lines, row, cycle, lanes)
            sent += 1
        else:
            took = compute(unit, row, cycle, lanes, levels)
            if kind == DIVIDE:
                divided = cycle + took
        if row[STEERS]:
            steered = cycle
        following = pc + 1
        if opcode == _LOOP:
            count = value(unit, row, A)
            if count > 0 and depth < LOOP_DEPTH:
                loops[depth, 0], loops[depth, 1] = pc + 1, row[IMMEDIATE] - 1
                loops[depth, 2] = count
                depth += 1
            else:
                following = row[IMMEDIATE]
        elif opcode == _JUMP or is_taken(unit, row):
            following = row[IMMEDIATE]
        elif is_last:
            loops[depth - 1, 2] -= 1
            if loops[depth - 1, 2]:
                following = loops[depth - 1, 0]
            else:
                depth -= 1
        is_steered = row[STEERS] and following != pc + 1
        if is_steered or opcode == _JUMP:
            while depth and not loops[depth - 1, 0] <= following <= loops[depth - 1, 1]:
                depth -= 1
        cycle += _STEERED if is_steered else 1
        pc = following
    return drain(lines, cycle + 1)


@compiled_inner
def _request(unit: Unit, lines: Lines, row: np.ndarray, cycle: int, lanes: int) -> int:
    """A request to memory; the cycle in which it has left for the cache."""
    opcode, address = row[OPCODE], value(unit, row, A) + row[IMMEDIATE]
    mask = unit.masks[row[MASK]] if row[IS_WIDE] else 1
    first, last = -1, -1
    for lane in range(lanes):
        if mask >> lane & 1:
            last = (address + lane) // LINE_WORDS
            first = last if first < 0 else first
    left, answered = cycle + _TO_CACHE, cycle + _TO_CACHE
    if first >= 0:
        for line in range(first, last + 1):
            if opcode == _STORE:
                left = write(lines, line, left)
            else:
                left, come = read(lines, line, left)
                answered = max(answered, come)
    if opcode == _LOAD:
        at = row[DST] + (VECTORS if row[IS_WIDE] else 0)
        tag = unit.loads.argmin()
        unit.loads[tag], unit.loaded[tag] = answered + FROM_CACHE, at
        if not row[IS_WIDE]:
            unit.values[row[DST]] = 0
    if row[A] < VECTORS and not (opcode == _LOAD and not row[IS_WIDE] and row[DST] == row[A]):
        unit.values[row[A]] += row[INCREMENT]
        unit.ready[row[A]] = cycle + 1
    return left

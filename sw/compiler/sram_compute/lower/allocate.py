"""Gives values rows, step by step, and makes the commands. Source: Infinity Stream, section 3.4.

Values come to rows when they are needed, and leave them for good behind their last use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.sram_compute.config import LAYOUTS
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.sw.compiler.sram_compute.lower.chunks import BOX
from gnarl.sw.compiler.sram_compute.lower.columns import COLUMNS, column
from gnarl.sw.compiler.sram_compute.lower.commands import append, append_movement
from gnarl.sw.compiler.sram_compute.lower.finish import Finishes
from gnarl.sw.compiler.sram_compute.lower.movement import WITHIN
from gnarl.sw.compiler.sram_compute.lower.parts import holes_of, keep_parts, whole_of
from gnarl.sw.compiler.sram_compute.lower.records import Record, Records
from gnarl.sw.compiler.sram_compute.lower.rows import (
    PARTS,
    STORE,
    STORED,
    State,
    bring,
    enter,
    fill,
    forget_copy,
    free_run,
    give_rows,
    leave,
    release,
    take,
    transfer,
)
from gnarl.sw.compiler.sram_compute.lower.select import NEVER, SHORT
from gnarl.sw.compiler.sram_compute.lower.steps import (
    CALCULATE,
    FILL,
    FINISH,
    FLOOD,
    KEEP,
    MOVE,
    STEPS,
    VALUES,
    Steps,
)
from gnarl.sw.program.jit import compiled, compiled_inner

_COMPUTE, _END, _STREAM = (each.value for each in (Opcode.COMPUTE, Opcode.END, Opcode.STREAM))

_STREAM_ROW = column(Opcode.STREAM, "row")

_ENTRY, _WIDTH, _BASES = (column(Opcode.COMPUTE, name) for name in ("entry", "n", "bases"))

_MOST_OF_OPERANDS = 96
"""Commands of a step, beside its movements and values that leave their rows."""

_MOST_OF_AN_ARRAY = 2 + 2 * PARTS
"""Commands that bring one to rows: ``MOVE`` of another value, ``SYNC``; ``LAYOUT`` and ``LOAD`` of
each part."""

DONE, FULL, FEW = range(3)
"""How it ends: well; without room; where a step needs more rows than there are."""


class Allocated(NamedTuple):
    """``how``. ``lines``: of values that were stored for a while; ``returns``: how often a value
    was loaded once more. ``rows``: that a step needs, where there are too few."""

    how: int
    lines: int
    returns: int
    rows: int


@compiled
def allocate(
    calculations: Records,
    tiles: Records,
    given: Steps,
    movements: np.ndarray,
    finishes: Finishes,
    arrays: Records,
    free_line: int,
    wordlines: int,
    rows: np.ndarray,
    tally: Records,
    banks: Records,
    arrays_first: bool,
) -> Allocated:
    """Makes commands: ``rows``, int64 [n, columns and ``OUTPUT``], and ``TALLY`` [1]. O(steps x
    values in rows).

    calculations
        ``CALCULATION`` [n].
    tiles
        ``TILES`` [1].
    given, movements, finishes
        steps, and rows of their moves and of sums that stream engines finish.
    arrays
        ``STORED`` [n], all before ``free_line``.
    banks
        ``BANK`` [1] of zeros, which the caller holds: a compiled function frees an array of its own
        while a record of it is still used.
    arrays_first
        whether all arrays come to rows before the first step, not when they are needed.
    """
    keep_parts(calculations, given, arrays)
    values, steps = given.values[: given.counts[VALUES]], given.steps[: given.counts[STEPS]]
    is_needed = _needed(values, steps)
    uses = _uses(values, steps, is_needed)
    stored = np.empty(len(arrays) + len(values), STORED)
    for number in range(len(arrays)):
        stored[number] = arrays[number]
    owners = np.empty(len(values), np.int64)
    bank = banks[0]
    for row in range(wordlines):
        bank.is_free[row] = 1
    for entry in range(LAYOUTS):
        bank.entries[entry] = -1
    bank.arrays, bank.free_line, bank.wordlines = len(arrays), free_line, wordlines
    holes = holes_of(calculations, given, is_needed, arrays)
    boxes = np.zeros(PARTS + 1, BOX)
    state = State(values, uses, stored, holes, owners, rows, tally[0], bank, tiles[0], boxes)
    if arrays_first:
        if len(rows) < _MOST_OF_AN_ARRAY * len(arrays):
            return Allocated(FULL, 0, 0, 0)
        lacking = _bring_arrays(state, steps, is_needed)
        if lacking:
            return Allocated(FEW, 0, 0, lacking)
    for number in range(len(steps)):
        if is_needed[number]:
            step = steps[number]
            most = 3 * bank.placed_count + _MOST_OF_OPERANDS
            if step.kind == MOVE:
                moved = given.moved[step.detail]
                most += 2 * (moved.end - moved.first)
            elif step.kind == FINISH:
                kind = finishes.kinds[step.detail]
                most += kind.end - kind.first
            if len(rows) - state.tally.commands < most:
                return Allocated(FULL, 0, 0, 0)
            state.tally.output = step.output
            lacking = _allocate(calculations, given.moved, movements, finishes, state, number, step)
            if lacking:
                return Allocated(FEW, 0, 0, lacking)
    append(rows, state.tally, _END, 1)
    return Allocated(DONE, bank.free_line - free_line, bank.returns, 0)


@compiled_inner
def _reads(step: Record) -> tuple[int, int, int, int]:
    """The values that must have been made before; -1: none."""
    return step.a, step.b, step.e, step.result if step.is_partial else -1


@compiled_inner
def _needed(values: Records, steps: Records) -> np.ndarray:
    """For each step, whether something reads its result."""
    used = np.zeros(len(values), np.bool_)
    needed = np.zeros(len(steps), np.bool_)
    for number in range(len(steps) - 1, -1, -1):
        step = steps[number]
        if step.result < 0 or used[step.result]:
            needed[number] = True
            for read in _reads(step):
                if read >= 0:
                    used[read] = True
    return needed


@compiled_inner
def _uses(values: Records, steps: Records, is_needed: np.ndarray) -> np.ndarray:
    """Steps that read each value, once for each operand that it is; where they are, ``values``
    says, none of which is in rows."""
    for number in range(len(values)):
        value = values[number]
        value.row, value.slot = -1, -1
        value.since, value.is_locked, value.is_known = 0, 0, 0
        value.next_use, value.end_uses = 0, 0
    total = 0
    for number in range(len(steps)):
        if is_needed[number]:
            for read in _reads(steps[number]):
                if read >= 0:
                    values[read].end_uses += 1
                    total += 1
    first = 0
    for number in range(len(values)):
        value = values[number]
        value.next_use = first
        first += value.end_uses
        value.end_uses = value.next_use
    uses = np.empty(total, np.int64)
    for number in range(len(steps)):
        if is_needed[number]:
            for read in _reads(steps[number]):
                if read >= 0:
                    value = values[read]
                    uses[value.end_uses] = number
                    value.end_uses += 1
    return uses


@compiled_inner
def _bring_arrays(state: State, steps: Records, is_needed: np.ndarray) -> int:
    """Brings all arrays that are read to rows, in the order of their first use. Gives how many rows
    lack."""
    for number in range(len(steps)):
        if not is_needed[number]:
            continue
        for read in _reads(steps[number]):
            if read >= 0 and state.values[read].array >= 0 and state.values[read].row < 0:
                value = state.values[read]
                if not give_rows(state, read):
                    return int(value.rows)
                bring(state, value)
                value.is_locked = 0
    return 0


@compiled_inner
def _allocate(
    calculations: Records,
    moved: Records,
    movements: np.ndarray,
    finishes: Finishes,
    state: State,
    number: int,
    step: Record,
) -> int:
    """A step. Gives how many rows lack, beside its operands."""
    bank = state.bank
    lacking = _bring_operands(state, number, step)
    if lacking:
        return lacking
    scratch, scratch_rows = 0, 0
    may_replace = NEVER
    if step.kind == CALCULATE:
        scratch_rows = calculations[step.detail].scratch
        may_replace = calculations[step.detail].may_replace
        if scratch_rows:
            scratch = take(state, scratch_rows, 1)
            if scratch < 0:
                return scratch_rows
    if step.result >= 0:
        result = state.values[step.result]
        if may_replace == SHORT and free_run(bank, result.rows, 0) >= 0:
            may_replace = NEVER
        if result.row < 0 and not (may_replace and _replace(state, step)):
            if not give_rows(state, step.result):
                return int(result.rows)
        forget_copy(state, result)
    _emit(calculations, moved, movements, finishes, state, step, scratch)
    for row in range(scratch, scratch + scratch_rows):
        bank.is_free[row] = 1
    _release_used(state, step)
    return 0


@compiled_inner
def _bring_operands(state: State, number: int, step: Record) -> int:
    """Brings what a step reads to rows, where it is locked. Gives how many rows lack."""
    values = state.values
    for read in _reads(step):
        if read >= 0:
            values[read].is_locked = 1
    for read in _reads(step):
        if read < 0:
            continue
        operand = values[read]
        if operand.row < 0:
            if not give_rows(state, read):
                return int(operand.rows)
            bring(state, operand)
        while operand.next_use < operand.end_uses and state.uses[operand.next_use] <= number:
            operand.next_use += 1
    return 0


@compiled_inner
def _release_used(state: State, step: Record) -> None:
    """Unlocks a step's values; those that no later step uses leave their rows."""
    for named in (step.a, step.b, step.e, step.result):
        if named < 0:
            continue
        value = state.values[named]
        value.is_locked = 0
        if value.next_use == value.end_uses:
            forget_copy(state, value)
            if value.row >= 0:
                release(state, named)


@compiled_inner
def _replace(state: State, step: Record) -> bool:
    """Gives the result an operand's rows, if there is one that is not needed any more."""
    result = state.values[step.result]
    for number in (step.a, step.b):
        if number >= 0:
            operand = state.values[number]
            is_dead = operand.next_use == operand.end_uses
            if operand.row >= 0 and is_dead and operand.rows == result.rows:
                row = operand.row
                leave(state, number)
                enter(state, step.result, row)
                return True
    return False


@compiled_inner
def _emit(
    calculations: Records,
    moved: Records,
    movements: np.ndarray,
    finishes: Finishes,
    state: State,
    step: Record,
    scratch: int,
) -> None:
    values, rows = state.values, state.rows
    if step.kind == CALCULATE:
        named = calculations[step.detail]
        d = values[step.result].row
        a, b = _row_of(state, step.a, d), _row_of(state, step.b, d)
        e = _row_of(state, step.e, d)
        a, d = a + named.a_offset, d + named.result_offset
        if named.is_copy and a == d:
            return
        at = append(rows, state.tally, _COMPUTE, named.cycles)
        rows[at, _ENTRY], rows[at, _WIDTH] = named.entry, named.n
        rows[at, _BASES], rows[at, _BASES + 1], rows[at, _BASES + 2] = a, b, d
        rows[at, _BASES + 3], rows[at, _BASES + 4] = e, scratch
    elif step.kind == MOVE:
        result, which = values[step.result], moved[step.detail]
        for number in range(which.first, which.end):
            a = result.row if movements[number, WITHIN] else values[step.a].row
            append_movement(rows, state.tally, movements[number], a, result.row, result.rows)
    elif step.kind == FILL or step.kind == FLOOD:
        fill(state, values[step.result], step.detail, step.kind == FLOOD)
    elif step.kind == FINISH:
        kind = finishes.kinds[step.detail]
        for number in range(kind.first, kind.end):
            command = finishes.rows[number]
            at = append(rows, state.tally, command[0], finishes.cycles[number])
            for place in range(COLUMNS):
                rows[at, place] = command[place]
            if command[0] == _STREAM:
                rows[at, _STREAM_ROW] = values[step.result].row
    else:
        assert step.kind == KEEP
        stored = state.stored[step.detail]
        cells = whole_of(stored)
        if step.part >= 0:
            cells[:] = moved[step.part].cells
        transfer(state, STORE, step.detail, values[step.a], cells, False)


@compiled_inner
def _row_of(state: State, value: int, result: int) -> int:
    """The row of an operand, whose rows the result may have taken over."""
    if value < 0:
        return 0
    return int(state.values[value].row) if state.values[value].row >= 0 else result

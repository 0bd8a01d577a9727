"""Gives values rows, step by step, and makes the commands. Source: Infinity Stream, section 3.4.

Values come to rows when they are needed, and leave them for good behind their last use. Where rows
are short, the value that is needed last leaves them for a while: constants and what main memory has
are forgotten, others are stored there first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from hw.sram_compute.config import LAYOUTS, LINE_BYTES
from hw.sram_compute.isa import DIMENSIONS, Opcode
from sw.compiler.sram_compute.lower.commands import MOST_ROWS, append, append_movement, column
from sw.compiler.sram_compute.lower.compiled import Record, Records, inner
from sw.compiler.sram_compute.lower.movement import WITHIN, everywhere
from sw.compiler.sram_compute.lower.steps import (
    CALCULATE,
    FILL,
    KEEP,
    MOVE,
    STEPS,
    VALUES,
    Steps,
)

_NEVER = 1 << 60

_SPILLED = LAYOUTS - 1
"""The entry of the layout override table that spilled values have; arrays share the others."""

_COMPUTE, _LAYOUT, _LOAD, _STORE, _FILL, _END = (
    each.value
    for each in (
        Opcode.COMPUTE,
        Opcode.LAYOUT,
        Opcode.LOAD,
        Opcode.STORE,
        Opcode.FILL,
        Opcode.END,
    )
)
_ENTRY, _WIDTH, _BASES = (column(Opcode.COMPUTE, name) for name in ("entry", "n", "bases"))
_D, _N, _VALUE = (column(Opcode.FILL, name) for name in ("d", "n", "value"))
_OF_LAYOUT, _ROW, _ROWS = (column(Opcode.LOAD, name) for name in ("layout", "row", "n"))
"""Also of ``STORE``, whose ``is_signed`` is always 0."""
_NUMBER, _ELEMENT, _BASE, _SIZES, _LINE_STRIDES, _TILE, _TILE_STRIDES = (
    column(Opcode.LAYOUT, name)
    for name in ("layout", "element", "base", "sizes", "line_strides", "tile", "tile_strides")
)

STORED = np.dtype(
    [("element", np.int64), ("first_line", np.int64), ("shape", np.int64, (DIMENSIONS,))]
)
"""An array in memory, as ``Stored`` has it; ``element``: log2 of its bytes."""

_MOST_OF_OPERANDS = 32
"""Commands of a step, beside its movements and values that leave their rows."""

DONE, FULL, FEW = range(3)
"""How it ends: well; without room; where a step needs more rows than there are."""

BANK = np.dtype(
    [
        ("is_free", np.int64, (MOST_ROWS,)),
        ("placed", np.int64, (MOST_ROWS,)),
        ("placed_count", np.int64),
        ("time", np.int64),
        ("entries", np.int64, (LAYOUTS,)),
        ("arrays", np.int64),
        ("slots", np.int64),
        ("free_line", np.int64),
        ("returns", np.int64),
        ("wordlines", np.int64),
    ]
)
"""What banks hold: whether each row is free; values in rows, in no order, and how many; ``time``
passes with each that gets some. What the entries of the layout override table have, by its number
in ``stored``, where slots for values follow ``arrays``. The first free line of memory."""


class Allocated(NamedTuple):
    """``how``. ``lines``: of values that were stored for a while; ``returns``: how often a value
    was loaded once more. ``rows``: that a step needs, where there are too few."""

    how: int
    lines: int
    returns: int
    rows: int


class _State(NamedTuple):
    """``VALUE`` [n], of which ``row`` is -1 for none; ``since``: when it got it; ``slot`` in
    memory, -1 for none; ``is_known``: whether it has left its rows before. Steps that read it are
    in ``uses`` at ``next_use`` and on, before ``end_uses``.

    ``stored``: ``STORED`` [n]; ``owners``: of slots the value, -1 for none. ``rows``: of commands.
    """

    values: Records
    uses: np.ndarray
    stored: Records
    owners: np.ndarray
    rows: np.ndarray
    tally: Record
    bank: Record
    tiles: Record


@njit(cache=True, nogil=True)
def allocate(
    calculations: Records,
    tiles: Records,
    given: Steps,
    movements: np.ndarray,
    arrays: Records,
    free_line: int,
    wordlines: int,
    rows: np.ndarray,
    tally: Records,
) -> Allocated:
    """Makes commands: ``rows``, int64 [n, columns], and ``TALLY`` [1]. O(steps x values in rows).

    calculations
        ``CALCULATION`` [n].
    tiles
        ``TILES`` [1].
    given, movements
        steps, and rows of their moves.
    arrays
        ``STORED`` [n], all before ``free_line``.
    """
    values, steps = given.values[: given.counts[VALUES]], given.steps[: given.counts[STEPS]]
    is_needed = _needed(values, steps)
    uses = _uses(values, steps, is_needed)
    stored = np.empty(len(arrays) + len(values), STORED)
    for number in range(len(arrays)):
        stored[number] = arrays[number]
    owners = np.empty(len(values), np.int64)
    bank = np.zeros(1, BANK)[0]
    for row in range(wordlines):
        bank.is_free[row] = 1
    for entry in range(LAYOUTS):
        bank.entries[entry] = -1
    bank.arrays, bank.free_line, bank.wordlines = len(arrays), free_line, wordlines
    state = _State(values, uses, stored, owners, rows, tally[0], bank, tiles[0])
    for number in range(len(steps)):
        if is_needed[number]:
            step = steps[number]
            most = 3 * bank.placed_count + _MOST_OF_OPERANDS
            if step.kind == MOVE:
                moved = given.moved[step.detail]
                most += 2 * (moved.end - moved.first)
            if len(rows) - state.tally.commands < most:
                return Allocated(FULL, 0, 0, 0)
            lacking = _allocate(calculations, given.moved, movements, state, number, step)
            if lacking:
                return Allocated(FEW, 0, 0, lacking)
    append(rows, state.tally, _END, 1)
    return Allocated(DONE, bank.free_line - free_line, bank.returns, 0)


@inner
def _reads(step: Record, read: np.ndarray) -> int:
    """Puts the values that must have been made before in ``read``, each once; gives how many."""
    count = 0
    for value in (step.a, step.b, step.e, step.result if step.is_partial else -1):
        is_new = value >= 0
        for place in range(count):
            is_new &= read[place] != value
        if is_new:
            read[count] = value
            count += 1
    return count


@inner
def _needed(values: Records, steps: Records) -> np.ndarray:
    """Of each step whether something reads its result."""
    used = np.zeros(len(values), np.bool_)
    needed = np.zeros(len(steps), np.bool_)
    read = np.empty(4, np.int64)
    for number in range(len(steps) - 1, -1, -1):
        step = steps[number]
        if step.result < 0 or used[step.result]:
            needed[number] = True
            for place in range(_reads(step, read)):
                used[read[place]] = True
    return needed


@inner
def _uses(values: Records, steps: Records, is_needed: np.ndarray) -> np.ndarray:
    """Steps that read each value; where they are, ``values`` says, none of which is in rows."""
    read = np.empty(4, np.int64)
    for number in range(len(values)):
        value = values[number]
        value.row, value.slot = -1, -1
        value.since, value.is_locked, value.is_known = 0, 0, 0
        value.next_use, value.end_uses = 0, 0
    total = 0
    for number in range(len(steps)):
        if is_needed[number]:
            for place in range(_reads(steps[number], read)):
                values[read[place]].end_uses += 1
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
            for place in range(_reads(steps[number], read)):
                value = values[read[place]]
                uses[value.end_uses] = number
                value.end_uses += 1
    return uses


@inner
def _allocate(
    calculations: Records,
    moved: Records,
    movements: np.ndarray,
    state: _State,
    number: int,
    step: Record,
) -> int:
    """A step. Gives how many rows lack, beside its operands."""
    values, bank = state.values, state.bank
    read = np.empty(5, np.int64)
    count = _reads(step, read)
    for place in range(count):
        values[read[place]].is_locked = 1
    for place in range(count):
        operand = values[read[place]]
        if operand.row < 0:
            if not _place(state, read[place]):
                return int(operand.rows)
            _bring(state, operand)
        while operand.next_use < operand.end_uses and state.uses[operand.next_use] <= number:
            operand.next_use += 1
    scratch, scratch_rows = 0, 0
    if step.kind == CALCULATE:
        scratch_rows = calculations[step.detail].scratch
        if scratch_rows:
            scratch = _take(state, scratch_rows, 1)
            if scratch < 0:
                return scratch_rows
    if step.result >= 0:
        result = values[step.result]
        may_replace = step.kind == CALCULATE and calculations[step.detail].may_replace
        if result.row < 0 and not (may_replace and _replace(state, step)):
            if not _place(state, step.result):
                return int(result.rows)
        _forget_copy(state, result)
        if not step.is_partial:
            read[count] = step.result
            count += 1
    _emit(calculations, moved, movements, state, step, scratch)
    for row in range(scratch, scratch + scratch_rows):
        bank.is_free[row] = 1
    for place in range(count):
        value = values[read[place]]
        value.is_locked = 0
        if value.next_use == value.end_uses:
            _forget_copy(state, value)
            if value.row >= 0:
                _release(state, read[place])
    return 0


@inner
def _forget_copy(state: _State, value: Record) -> None:
    """Gives its slot of memory to others."""
    if value.slot >= 0:
        state.owners[value.slot] = -1
        value.slot = -1


@inner
def _replace(state: _State, step: Record) -> bool:
    """Gives the result an operand's rows, if there is one that is not needed any more."""
    result = state.values[step.result]
    for number in (step.a, step.b):
        if number >= 0:
            operand = state.values[number]
            is_dead = operand.next_use == operand.end_uses
            if operand.row >= 0 and is_dead and operand.rows == result.rows:
                row = operand.row
                _leave(state, number)
                _enter(state, step.result, row)
                return True
    return False


@inner
def _enter(state: _State, number: int, row: int) -> None:
    value, bank = state.values[number], state.bank
    value.row, value.since, value.is_locked = row, bank.time, 1
    bank.placed[bank.placed_count] = number
    bank.time += 1
    bank.placed_count += 1


@inner
def _leave(state: _State, number: int) -> None:
    bank = state.bank
    state.values[number].row = -1
    bank.placed_count -= 1
    for place in range(bank.placed_count):
        if bank.placed[place] == number:
            bank.placed[place] = bank.placed[bank.placed_count]


@inner
def _release(state: _State, number: int) -> None:
    value = state.values[number]
    for row in range(value.row, value.row + value.rows):
        state.bank.is_free[row] = 1
    _leave(state, number)


@inner
def _place(state: _State, number: int) -> bool:
    """Gives whether there are rows."""
    rows = state.values[number].rows
    row = _take(state, rows, rows == 1)
    if row >= 0:
        _enter(state, number, row)
    return row >= 0


@inner
def _take(state: _State, length: int, from_above: int) -> int:
    """The first of free rows, or of the last such, which are made where there are none; -1 where
    they cannot be."""
    bank = state.bank
    while True:
        run = 0
        for place in range(bank.wordlines):
            row = bank.wordlines - 1 - place if from_above else place
            run = run + 1 if bank.is_free[row] else 0
            if run == length:
                first = row if from_above else row - length + 1
                for taken in range(first, first + length):
                    bank.is_free[taken] = 0
                return int(first)
        number = _needed_last(state)
        if number < 0:
            return -1
        value = state.values[number]
        value.is_known = 1
        if value.constant < 0 and value.array < 0 and value.slot < 0:
            _spill(state, number)
            _transfer(state, _STORE, bank.arrays + value.slot, value)
        _release(state, number)


@inner
def _needed_last(state: _State) -> int:
    """The value in rows that may leave them, of several one that memory has; -1: none."""
    found, latest, found_clean, found_since = -1, 0, False, 0
    for place in range(state.bank.placed_count):
        number = state.bank.placed[place]
        value = state.values[number]
        if value.is_locked:
            continue
        use = state.uses[value.next_use] if value.next_use < value.end_uses else _NEVER
        clean = value.constant >= 0 or value.array >= 0 or value.slot >= 0
        is_better = found < 0 or use > latest
        if use == latest and found >= 0:
            is_better = clean and not found_clean
            is_better |= clean == found_clean and value.since < found_since
        if is_better:
            found, latest, found_clean, found_since = number, use, clean, value.since
    return found


@inner
def _spill(state: _State, number: int) -> None:
    """Gives a value room in memory for all of the lattice."""
    value, bank = state.values[number], state.bank
    element = 0
    while 8 << element < value.rows:
        element += 1
    slot = 0
    while slot < bank.slots:
        if state.owners[slot] < 0 and state.stored[bank.arrays + slot].element == element:
            break
        slot += 1
    if slot == bank.slots:
        bank.slots += 1
        kept = state.stored[bank.arrays + slot]
        kept.element, kept.first_line = element, bank.free_line
        for dimension in range(DIMENSIONS):
            kept.shape[dimension] = state.tiles.shape[dimension]
        bank.free_line += _row_lines(kept) * kept.shape[1] * kept.shape[2]
    value.slot = slot
    state.owners[slot] = number


@inner
def _row_lines(stored: Record) -> int:
    return -(-(stored.shape[0] << stored.element) // LINE_BYTES)


@inner
def _bring(state: _State, value: Record) -> None:
    """To the rows that it has been given."""
    if value.constant >= 0:
        _fill(state, value, value.constant)
        return
    stored = state.bank.arrays + value.slot if value.slot >= 0 else value.array
    _transfer(state, _LOAD, stored, value)
    state.bank.returns += value.is_known


@inner
def _transfer(state: _State, opcode: int, number: int, value: Record) -> None:
    """Of a value, from or to what is stored under a number."""
    stored, tiles, bank, rows = state.stored[number], state.tiles, state.bank, state.rows
    entry = number % _SPILLED if number < bank.arrays else _SPILLED
    lines = _row_lines(stored)
    if bank.entries[entry] != number:
        bank.entries[entry] = number
        at = append(rows, state.tally, _LAYOUT, 0)
        rows[at, _NUMBER], rows[at, _ELEMENT] = entry, stored.element
        rows[at, _BASE] = stored.first_line
        rows[at, _SIZES] = rows[at, _LINE_STRIDES] = lines
        rows[at, _SIZES + 1], rows[at, _SIZES + 2] = stored.shape[1], stored.shape[2]
        rows[at, _LINE_STRIDES + 1] = lines * stored.shape[1]
        for dimension in range(DIMENSIONS):
            while 1 << rows[at, _TILE + dimension] < tiles.tile[dimension]:
                rows[at, _TILE + dimension] += 1
        for dimension in (1, 2):
            # That of all tiles, where there is one alone, would not fit.
            rows[at, _TILE_STRIDES - 1 + dimension] = tiles.strides[dimension] % tiles.all
    cycles = lines * stored.shape[1] * stored.shape[2] * state.tally.line_cycles
    at = append(rows, state.tally, opcode, cycles)
    rows[at, _OF_LAYOUT], rows[at, _ROW], rows[at, _ROWS] = entry, value.row, value.rows


@inner
def _fill(state: _State, value: Record, bits: int) -> None:
    at = append(state.rows, state.tally, _FILL, value.rows + 1)
    row = state.rows[at]
    row[_D], row[_N], row[_VALUE] = value.row, value.rows, bits
    everywhere(row, state.tiles)


@inner
def _emit(
    calculations: Records,
    moved: Records,
    movements: np.ndarray,
    state: _State,
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
    elif step.kind == FILL:
        _fill(state, values[step.result], step.detail)
    else:
        assert step.kind == KEEP
        _transfer(state, _STORE, step.detail, values[step.a])


@inner
def _row_of(state: _State, value: int, result: int) -> int:
    """Of an operand, whose rows the result may have taken over."""
    if value < 0:
        return 0
    return int(state.values[value].row) if state.values[value].row >= 0 else result

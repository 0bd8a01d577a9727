"""Values in rows, and those that leave them for main memory. Source: Infinity Stream, section 3.4.

Where free rows do not lie together, a value moves to other rows. Where rows are short, the value
that is needed last leaves them for a while: constants and what main memory has are forgotten,
others are stored there first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.sram_compute.config import LAYOUTS, LINE_BYTES
from gnarl.hw.sram_compute.isa import DIMENSIONS, Opcode
from gnarl.sw.compiler.sram_compute.lower.chunks import boxed, cut, goes_on
from gnarl.sw.compiler.sram_compute.lower.columns import column
from gnarl.sw.compiler.sram_compute.lower.command_times import transfer_cycles
from gnarl.sw.compiler.sram_compute.lower.commands import MOST_ROWS, append, append_movement
from gnarl.sw.compiler.sram_compute.lower.movement import everywhere, to_other_rows
from gnarl.sw.compiler.sram_compute.lower.parts import lines_of, margins_of, whole_of
from gnarl.sw.compiler.sram_compute.lower.records import Record, Records
from gnarl.sw.program.jit import compiled_inner

_SPILLED = LAYOUTS - 1
"""The entry of the layout override table that spilled values have; arrays share the others."""

_LAYOUT, LOAD, STORE, _FILL = (
    each.value for each in (Opcode.LAYOUT, Opcode.LOAD, Opcode.STORE, Opcode.FILL)
)

_D, _N, _VALUE = (column(Opcode.FILL, name) for name in ("d", "n", "value"))

_OF_LAYOUT, _ROW, _ROWS, _HOLLOW, _BEFORE, _AFTER = (
    column(Opcode.LOAD, name) for name in ("layout", "row", "n", "hollow", "before", "after")
)
"""Also of ``STORE``, whose ``is_signed`` is always 0."""

_NUMBER, _ELEMENT, _BASE, _SIZES, _LINE_STRIDES, _TILE, _TILE_STRIDES = (
    column(Opcode.LAYOUT, name)
    for name in ("layout", "element", "base", "sizes", "line_strides", "tile", "tile_strides")
)
_CHUNKED, _CHUNK, _CHUNK_LINES, _CHUNK_TILES = (
    column(Opcode.LAYOUT, name) for name in ("chunked", "chunk", "chunk_lines", "chunk_tiles")
)

STORED = np.dtype(
    [("element", np.int64), ("first_line", np.int64), ("shape", np.int64, (DIMENSIONS,))]
)
"""An array in memory, as ``Stored`` has it; ``element``: log2 of its bytes."""

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
passes with each that gets some. What the entries of the layout override table have: twice its
number in ``stored``, where slots for values follow ``arrays``, one more where dimensions are kept
apart. The first free line of memory."""


class State(NamedTuple):
    """``VALUE`` [n], of which ``row`` is -1 for none; ``since``: when it got it; ``slot`` in
    memory, -1 for none; ``is_known``: whether it has left its rows before. Steps that read it are
    in ``uses`` at ``next_use`` and on, before ``end_uses``.

    ``stored``: ``STORED`` [n]; ``holes``: of arrays among them, as of ``holes_of``; ``owners``: of
    slots the value, -1 for none. ``rows``: of commands.
    """

    values: Records
    uses: np.ndarray
    stored: Records
    holes: np.ndarray
    owners: np.ndarray
    rows: np.ndarray
    tally: Record
    bank: Record
    tiles: Record


@compiled_inner
def enter(state: State, number: int, row: int) -> None:
    """A value has the rows from ``row`` on, and keeps them until it is unlocked."""
    value, bank = state.values[number], state.bank
    value.row, value.since, value.is_locked = row, bank.time, 1
    bank.placed[bank.placed_count] = number
    bank.time += 1
    bank.placed_count += 1


@compiled_inner
def leave(state: State, number: int) -> None:
    """A value has no rows any more, whether they are free or another's."""
    bank = state.bank
    state.values[number].row = -1
    bank.placed_count -= 1
    for place in range(bank.placed_count):
        if bank.placed[place] == number:
            bank.placed[place] = bank.placed[bank.placed_count]


@compiled_inner
def release(state: State, number: int) -> None:
    """A value's rows are free."""
    value = state.values[number]
    for row in range(value.row, value.row + value.rows):
        state.bank.is_free[row] = 1
    leave(state, number)


@compiled_inner
def give_rows(state: State, number: int) -> bool:
    """Gives rows to a value; returns whether there are some."""
    rows = state.values[number].rows
    row = take(state, rows, rows == 1)
    if row >= 0:
        enter(state, number, row)
    return row >= 0


@compiled_inner
def take(state: State, length: int, from_above: int) -> int:
    """The first of free rows, or of the last such, which are made where there are none; -1 where
    they cannot be. A value in rows may have other ones then."""
    bank = state.bank
    while True:
        first = free_run(bank, length, from_above)
        if first >= 0:
            _mark(bank, first, length, 0)
            return first
        if _join(state, length):
            continue
        number = _needed_last(state)
        if number < 0:
            return -1
        value = state.values[number]
        value.is_known = 1
        if value.constant < 0 and value.array < 0 and value.slot < 0:
            _spill(state, number)
            slot = bank.arrays + value.slot
            transfer(state, STORE, slot, value, whole_of(state.stored[slot]), False)
        release(state, number)


@compiled_inner
def free_run(bank: Record, length: int, from_above: int) -> int:
    """The first of so many free rows; -1: there are none that lie together."""
    run = 0
    for place in range(bank.wordlines):
        row = bank.wordlines - 1 - place if from_above else place
        run = run + 1 if bank.is_free[row] else 0
        if run == length:
            return int(row if from_above else row - length + 1)
    return -1


@compiled_inner
def _mark(bank: Record, first: int, length: int, is_free: int) -> None:
    for row in range(first, first + length):
        bank.is_free[row] = is_free


@compiled_inner
def _join(state: State, length: int) -> bool:
    """Moves the value of the fewest rows with which so many free rows lie together; returns whether
    there is one. O(values in rows x rows)."""
    bank, free = state.bank, 0
    for row in range(bank.wordlines):
        free += bank.is_free[row]
    if free < length:
        return False
    found, goal = -1, -1
    for place in range(bank.placed_count):
        number = bank.placed[place]
        value = state.values[number]
        if found >= 0 and value.rows >= state.values[found].rows:
            continue
        for from_above in range(2):
            first = free_run(bank, value.rows, from_above)
            if first < 0:
                continue
            _mark(bank, first, value.rows, 0)
            _mark(bank, value.row, value.rows, 1)
            if free_run(bank, length, 0) >= 0:
                found, goal = number, first
            _mark(bank, value.row, value.rows, 0)
            _mark(bank, first, value.rows, 1)
    if found < 0:
        return False
    value = state.values[found]
    move = to_other_rows(state.tiles)
    append_movement(state.rows, state.tally, move, value.row, goal, value.rows)
    _mark(bank, goal, value.rows, 0)
    _mark(bank, value.row, value.rows, 1)
    value.row = goal
    return True


@compiled_inner
def _needed_last(state: State) -> int:
    """The value in rows that may leave them, of several one that memory has; -1: none. Each is
    needed once more: others are released with the step that needed them last."""
    found, latest, found_clean, found_since = -1, 0, False, 0
    for place in range(state.bank.placed_count):
        number = state.bank.placed[place]
        value = state.values[number]
        if value.is_locked:
            continue
        use = state.uses[value.next_use]
        clean = value.constant >= 0 or value.array >= 0 or value.slot >= 0
        is_better = found < 0 or use > latest
        if use == latest and found >= 0:
            is_better = clean and not found_clean
            is_better |= clean == found_clean and value.since < found_since
        if is_better:
            found, latest, found_clean, found_since = number, use, clean, value.since
    return found


@compiled_inner
def _spill(state: State, number: int) -> None:
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


@compiled_inner
def forget_copy(state: State, value: Record) -> None:
    """Gives its slot of memory to others."""
    if value.slot >= 0:
        state.owners[value.slot] = -1
        value.slot = -1


@compiled_inner
def bring(state: State, value: Record) -> None:
    """Brings a value to the rows that it has been given."""
    if value.constant >= 0:
        fill(state, value, value.constant, False)
        return
    if value.slot < 0 and state.holes[value.array, 0, 1] > 0:
        transfer(state, LOAD, value.array, value, state.holes[value.array], True)
    else:
        stored = state.bank.arrays + value.slot if value.slot >= 0 else value.array
        transfer(state, LOAD, stored, value, whole_of(state.stored[stored]), False)
    state.bank.returns += value.is_known


@compiled_inner
def transfer(
    state: State, opcode: int, number: int, value: Record, cells: np.ndarray, hollow: bool
) -> None:
    """Transfers a value from or to what is stored under a number, or only some of its cells; if it
    is ``hollow``, all but whole lines of these cells."""
    stored, tiles, bank, rows = state.stored[number], state.tiles, state.bank, state.rows
    entry = number % _SPILLED if number < bank.arrays else _SPILLED
    joins = goes_on(stored, tiles)
    has_margins = cells[1, 1] - cells[1, 0] < stored.shape[1]
    has_margins |= cells[2, 1] - cells[2, 0] < stored.shape[2]
    key = 2 * number + (joins and has_margins)  # margins are of dimensions as the array has them
    box = boxed(_row_lines(stored), stored, tiles, joins and not has_margins)
    cut(box, stored.element, tiles, state.tally.clock.arrays)
    if bank.entries[entry] != key:
        bank.entries[entry] = key
        at = append(rows, state.tally, _LAYOUT, 0)
        rows[at, _NUMBER], rows[at, _ELEMENT] = entry, stored.element
        rows[at, _BASE] = stored.first_line
        strides = (1, box.sizes[0], box.sizes[0] * box.sizes[1])
        rows[at, _LINE_STRIDES], rows[at, _LINE_STRIDES + 1] = strides[1], strides[2]
        for dimension in range(DIMENSIONS):
            rows[at, _SIZES + dimension] = box.sizes[dimension]
            while 1 << rows[at, _TILE + dimension] < tiles.tile[dimension]:
                rows[at, _TILE + dimension] += 1
        for dimension in (1, 2):
            # What is no stride need not fit: that of the only tile may be the number of all tiles.
            if box.grid[dimension] > 1:
                rows[at, _TILE_STRIDES - 1 + dimension] = tiles.strides[dimension]
        rows[at, _CHUNKED], rows[at, _CHUNK] = box.chunked, box.chunk
        rows[at, _CHUNK_LINES] = box.chunk * strides[box.chunked]
        rows[at, _CHUNK_TILES] = box.chunk_tiles
    all_lines = box.sizes[0] * box.sizes[1] * box.sizes[2]
    lines = all_lines - lines_of(cells, stored) if hollow else lines_of(cells, stored)
    cycles = transfer_cycles(
        state.tally.clock,
        opcode,
        lines,
        value.rows,
        stored.element,
        tiles.tile[0],
        box.chunks,
    )
    if opcode == STORE or hollow:
        cycles += all_lines - lines
    at = append(rows, state.tally, opcode, cycles)
    rows[at, _OF_LAYOUT], rows[at, _ROW], rows[at, _ROWS] = entry, value.row, value.rows
    if opcode == STORE or hollow:
        for dimension in range(DIMENSIONS):
            before, after = margins_of(cells, dimension, stored)
            rows[at, _BEFORE + dimension], rows[at, _AFTER + dimension] = before, after
    if hollow:
        rows[at, _HOLLOW] = 1


@compiled_inner
def fill(state: State, value: Record, bits: int, floods: bool) -> None:
    """All bitlines have ``bits``; ``floods``: those of tiles beyond the lattice, too."""
    at = append(state.rows, state.tally, _FILL, value.rows + 1)
    row = state.rows[at]
    row[_D], row[_N], row[_VALUE] = value.row, value.rows, bits
    everywhere(row, state.tiles, floods)


@compiled_inner
def _row_lines(stored: Record) -> int:
    return -(-(stored.shape[0] << stored.element) // LINE_BYTES)

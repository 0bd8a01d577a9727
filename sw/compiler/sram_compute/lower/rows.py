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
from gnarl.hw.sram_compute.wide_lines import are_wide
from gnarl.sw.compiler.sram_compute.lower.chunks import cut, goes_on, set_part, set_whole
from gnarl.sw.compiler.sram_compute.lower.columns import column
from gnarl.sw.compiler.sram_compute.lower.command_times import transfer_cycles
from gnarl.sw.compiler.sram_compute.lower.commands import MOST_ROWS, append, append_movement
from gnarl.sw.compiler.sram_compute.lower.movement import everywhere, to_other_rows
from gnarl.sw.compiler.sram_compute.lower.parts import lines_of, margins_of, whole_of
from gnarl.sw.compiler.sram_compute.lower.records import Record, Records
from gnarl.sw.program.jit import compiled_inner

PARTS = 2 * DIMENSIONS
"""Around some cells: before them and behind them in each dimension."""

_PART = 8
"""Cycles between two parts of an array that are loaded one after the other, and commands of it."""

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

_NUMBER, _ELEMENT, _BASE, _SIZES, _LINE_STRIDES, _TILE, _FIRST_TILE, _TILE_STRIDES = (
    column(Opcode.LAYOUT, name)
    for name in (
        "layout",
        "element",
        "base",
        "sizes",
        "line_strides",
        "tile",
        "first_tile",
        "tile_strides",
    )
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
    slots the value, -1 for none. ``rows``: of commands. ``boxes``: ``BOX`` [parts around cells, and
    a whole array], of the transfer that is looked at.
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
    boxes: Records


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
        lines = _row_lines(kept) * kept.shape[1] * kept.shape[2]
        channels = state.tally.clock.channels
        bank.free_line += -(-lines // channels) * channels
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
    box = state.boxes[PARTS]
    set_whole(box, _row_lines(stored), stored, tiles, joins and not has_margins)
    cut(box, stored.element, tiles, state.tally.clock.arrays)
    wide = _are_wide(state.tally.clock.channels, box, tiles)
    all_lines = box.sizes[0] * box.sizes[1] * box.sizes[2]
    lines = lines_of(cells, stored)
    if hollow:
        lines = all_lines - _left_out(cells, stored, state.tally.clock.channels if wide else 1)
    cycles = _cycles(state, opcode, lines, value, stored, box)
    if opcode == STORE or hollow:
        cycles += (all_lines - lines) // (state.tally.clock.channels if wide else 1)
    if hollow and _load_around(state, entry, value, stored, cells, cycles):
        return
    if bank.entries[entry] != key:
        bank.entries[entry] = key
        _append_layout(state, entry, stored, box)
    at = append(rows, state.tally, opcode, cycles)
    rows[at, _OF_LAYOUT], rows[at, _ROW], rows[at, _ROWS] = entry, value.row, value.rows
    if opcode == STORE or hollow:
        for dimension in range(DIMENSIONS):
            before, after = margins_of(cells, dimension, stored)
            rows[at, _BEFORE + dimension], rows[at, _AFTER + dimension] = before, after
    if hollow:
        rows[at, _HOLLOW] = 1


@compiled_inner
def _load_around(
    state: State,
    entry: int,
    value: Record,
    stored: Record,
    cells: np.ndarray,
    cycles: int,
) -> bool:
    """Loads what lies around cells as parts of whole tiles, with some of the cells, one after the
    other, if that takes less than so many ``cycles``: passing over a line takes one."""
    lines, tiles = _row_lines(stored), state.tiles
    parts = _around(cells, lines, stored, tiles, state.tally.clock.channels)
    spent = 0
    for number in range(len(parts)):
        if _are_some(parts[number]):
            box = state.boxes[number]
            set_part(box, parts[number], lines, stored, tiles)
            cut(box, stored.element, tiles, state.tally.clock.arrays)
            size = box.sizes[0] * box.sizes[1] * box.sizes[2]
            spent += _cycles(state, LOAD, size, value, stored, box) + _PART
    if spent >= cycles:
        return False
    state.bank.entries[entry] = -1
    for number in range(len(parts)):
        if _are_some(parts[number]):
            box = state.boxes[number]
            _append_layout(state, entry, stored, box)
            size = box.sizes[0] * box.sizes[1] * box.sizes[2]
            spent = _cycles(state, LOAD, size, value, stored, box)
            at = append(state.rows, state.tally, LOAD, spent)
            row = state.rows[at]
            row[_OF_LAYOUT], row[_ROW], row[_ROWS] = entry, value.row, value.rows
    return True


@compiled_inner
def _are_some(cells: np.ndarray) -> bool:
    found = True
    for dimension in range(DIMENSIONS):
        found &= cells[dimension, 0] < cells[dimension, 1]
    return found


@compiled_inner
def _around(
    cells: np.ndarray, lines: int, stored: Record, tiles: Record, channels: int
) -> np.ndarray:
    """Parts of an array, whose rows have so many ``lines``, that have all but some of the cells:
    those before them in each dimension, and those behind, from the beginning of a tile on; int64
    [parts, dimensions, first and, without, last], of dimension 0 lines."""
    elements = LINE_BYTES >> stored.element
    found = np.zeros((PARTS, DIMENSIONS, 2), np.int64)
    for dimension in range(DIMENSIONS):
        size, unit = stored.shape[dimension], tiles.tile[dimension]
        first, last = cells[dimension, 0], cells[dimension, 1]
        if dimension == 0:
            unit = max(1, unit // elements)
            first = -(-first // elements)
            last = lines if last >= size else last // elements
            size = lines
            if lines % channels == 0:
                unit = max(unit, channels)
                first = -(-first // channels) * channels
        for part in range(PARTS):
            found[part, dimension, 1] = size
        found[2 * dimension, dimension, 1] = first
        found[2 * dimension + 1, dimension, 0] = last // unit * unit if last < size else size
    return found


@compiled_inner
def _cycles(
    state: State, opcode: int, lines: int, value: Record, stored: Record, box: Record
) -> int:
    """About how many a transfer of ``lines`` takes."""
    clock, tiles = state.tally.clock, state.tiles
    wide = _are_wide(clock.channels, box, tiles)
    return transfer_cycles(
        clock, opcode, lines, value.rows, stored.element, tiles.tile[0], box.chunks, wide
    )


@compiled_inner
def _append_layout(state: State, entry: int, stored: Record, box: Record) -> None:
    rows, tiles = state.rows, state.tiles
    at = append(rows, state.tally, _LAYOUT, 0)
    row = rows[at]
    row[_NUMBER], row[_ELEMENT] = entry, stored.element
    row[_BASE], row[_FIRST_TILE] = box.base, box.first_tile
    row[_LINE_STRIDES], row[_LINE_STRIDES + 1] = box.strides[1], box.strides[2]
    for dimension in range(DIMENSIONS):
        row[_SIZES + dimension] = box.sizes[dimension]
        while 1 << row[_TILE + dimension] < tiles.tile[dimension]:
            row[_TILE + dimension] += 1
    for dimension in (1, 2):
        # What is no stride need not fit: that of the only tile may be the number of all tiles.
        if box.grid[dimension] > 1:
            row[_TILE_STRIDES - 1 + dimension] = tiles.strides[dimension]
    row[_CHUNKED], row[_CHUNK] = box.chunked, box.chunk
    row[_CHUNK_LINES] = box.chunk * box.strides[box.chunked]
    row[_CHUNK_TILES] = box.chunk_tiles


@compiled_inner
def _left_out(cells: np.ndarray, stored: Record, channels: int) -> int:
    """Lines all of whose elements are ``cells``, of which ``channels`` are moved at once."""
    elements = channels * LINE_BYTES >> stored.element
    first, end = -(-cells[0, 0] // elements), cells[0, 1] // elements
    if cells[0, 1] >= stored.shape[0]:
        end = -(-stored.shape[0] // elements)
    others = (cells[1, 1] - cells[1, 0]) * (cells[2, 1] - cells[2, 0])
    return int(max(0, end - first) * channels * others)


_wide = compiled_inner(are_wide)


@compiled_inner
def _are_wide(channels: int, box: Record, tiles: Record) -> bool:
    """Whether lines of all channels are moved at once, as the ``LAYOUT`` of the box has them."""
    if channels == 1:
        return False
    extent, numbers = 0, box.chunk_tiles | box.first_tile
    while 1 << extent < tiles.tile[0]:
        extent += 1
    for dimension in (1, 2):
        if box.grid[dimension] > 1:
            numbers |= tiles.strides[dimension]
    return bool(
        _wide(
            channels,
            box.base,
            box.sizes[0],
            box.strides[1] | box.strides[2],
            box.chunked,
            box.chunk,
            box.chunk * box.strides[box.chunked],
            extent,
            numbers,
        )
    )


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

"""Arrays of which a program writes a part: the rest stays in memory, and is not loaded for that.

An array's last value is often its first one with some cells of others. Where nothing else reads
that, those cells are stored from where they are; where something does, they need not be loaded.
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_BYTES, WORD_BYTES
from gnarl.hw.sram_compute.isa import DIMENSIONS, STORE
from gnarl.sw.compiler.sram_compute.lower.records import Record, Records
from gnarl.sw.compiler.sram_compute.lower.steps import (
    CALCULATE,
    KEEP,
    MOVE,
    SHIFTED,
    STEPS,
    Steps,
)
from gnarl.sw.program.jit import compiled_inner

_MOST_MARGIN = (1 << STORE["before"].shape.elem_shape.width) - 1


@compiled_inner
def keep_parts(calculations: Records, given: Steps, arrays: Records) -> None:
    """Makes each ``KEEP`` of such an array one of each part. O(arrays x steps).

    arrays
        ``STORED`` [n].
    """
    keeps = np.empty(len(arrays), np.int64)
    count = 0
    for number in range(given.counts[STEPS]):
        step = given.steps[number]
        if step.kind == KEEP and step.part < 0:
            keeps[count] = number
            count += 1
    for place in range(count):
        number = keeps[place]
        array = given.steps[number].detail
        parts = _parts(calculations, given, number, arrays[array])
        if not parts or given.counts[STEPS] + parts - 1 > len(given.steps):
            continue
        whole = given.steps[number].a
        at = number
        for other in range(number):
            step = given.steps[other]
            if step.kind == MOVE and step.result == whole:
                kept = given.steps[at]
                kept.kind, kept.result, kept.a, kept.b, kept.e = KEEP, -1, step.a, -1, -1
                kept.detail, kept.is_partial, kept.part = array, 0, step.detail
                kept.output = given.steps[number].output
                at = given.counts[STEPS]
                given.counts[STEPS] += 1
        given.counts[STEPS] -= 1


@compiled_inner
def holes_of(
    calculations: Records, given: Steps, is_needed: np.ndarray, arrays: Records
) -> np.ndarray:
    """Cells of each array that are overwritten before anything reads them, in whole lines: int64
    [arrays, dimensions, first and, without, last], none of arrays that have none. O(arrays x
    steps).

    is_needed
        bool [steps].
    """
    holes = np.zeros((len(arrays), DIMENSIONS, 2), np.int64)
    for array in range(len(arrays)):
        copy = _only_copy(calculations, given, is_needed, array)
        step = _next_mention(given, is_needed, copy) if copy >= 0 else -1
        if step >= 0 and _overwrites(given, step, given.steps[copy].result):
            cells = given.moved[given.steps[step].detail].cells
            _set_hole(holes[array], cells, arrays[array])
    return holes


@compiled_inner
def _only_copy(calculations: Records, given: Steps, is_needed: np.ndarray, array: int) -> int:
    """The step that copies an array, if no other one reads it; else -1."""
    found = -1
    for number in range(given.counts[STEPS]):
        step = given.steps[number]
        if is_needed[number] and (step.a == array or step.b == array or step.e == array):
            is_copy = step.kind == CALCULATE and calculations[step.detail].is_copy
            is_whole = is_copy and step.is_partial == 0
            if found >= 0 or not is_whole or step.b >= 0 or step.e >= 0:
                return -1
            found = number
        elif is_needed[number] and step.result == array:
            return -1
    return found


@compiled_inner
def _next_mention(given: Steps, is_needed: np.ndarray, copy: int) -> int:
    """The first step behind a copy that reads or writes its result; -1: none."""
    value = given.steps[copy].result
    for number in range(copy + 1, given.counts[STEPS]):
        step = given.steps[number]
        is_read = step.a == value or step.b == value or step.e == value
        if is_needed[number] and (is_read or step.result == value):
            return number
    return -1


@compiled_inner
def _overwrites(given: Steps, number: int, value: int) -> bool:
    """Whether a step does nothing with a value but write some cells of it, where they are."""
    step = given.steps[number]
    if step.kind != MOVE or step.result != value or step.a == value:
        return False
    moved = given.moved[step.detail]
    return bool(moved.how == SHIFTED and moved.by == 0)


@compiled_inner
def _set_hole(hole: np.ndarray, cells: np.ndarray, stored: Record) -> None:
    """The lines all of whose elements are ``cells``, if a ``LOAD`` can leave them out."""
    elements = LINE_BYTES >> stored.element
    for dimension in range(DIMENSIONS):
        hole[dimension, 0], hole[dimension, 1] = cells[dimension, 0], cells[dimension, 1]
    hole[0, 0] = -(-cells[0, 0] // elements) * elements
    if cells[0, 1] < stored.shape[0]:
        hole[0, 1] = cells[0, 1] // elements * elements
    fits = True
    for dimension in range(DIMENSIONS):
        before, after = margins_of(hole, dimension, stored)
        fits &= hole[dimension, 0] < hole[dimension, 1]
        fits &= before <= _MOST_MARGIN and after <= _MOST_MARGIN
    if not fits:
        hole[:] = 0


@compiled_inner
def _parts(calculations: Records, given: Steps, number: int, stored: Record) -> int:
    """How many parts a ``KEEP`` may store instead, in less than a load and a store of all; 0 for
    none."""
    array, whole = given.steps[number].detail, given.steps[number].a
    parts, lines, is_copied = 0, 0, False
    for other in range(given.counts[STEPS]):
        step = given.steps[other]
        if other != number and (step.a == whole or step.b == whole or step.e == whole):
            return 0
        if step.result != whole:
            continue
        if step.kind == CALCULATE and not is_copied:
            source = given.values[step.a].array if step.a >= 0 else -1
            if not calculations[step.detail].is_copy or source != array:
                return 0
            is_copied = True
        elif step.kind == MOVE and is_copied and _may_be_kept(given, other, stored):
            parts += 1
            lines += lines_of(given.moved[step.detail].cells, stored)
        else:
            return 0
    all_lines = lines_of(whole_of(stored), stored)
    return parts if lines < 2 * all_lines else 0


@compiled_inner
def _may_be_kept(given: Steps, number: int, stored: Record) -> bool:
    """Whether a move's cells are whole words, and its operand stays as it is, whatever is stored
    before."""
    step = given.steps[number]
    moved, operand = given.moved[step.detail], given.values[step.a]
    if moved.how != SHIFTED or moved.by != 0 or operand.array >= 0:
        return False
    if operand.rows != given.values[step.result].rows:
        return False
    for other in range(number + 1, given.counts[STEPS]):
        if given.steps[other].result == step.a:
            return False
    first, last = moved.cells[0, 0], moved.cells[0, 1]
    is_even = (first << stored.element) % WORD_BYTES == 0
    is_even &= (last << stored.element) % WORD_BYTES == 0 or last == stored.shape[0]
    for dimension in range(DIMENSIONS):
        before, after = margins_of(moved.cells, dimension, stored)
        is_even &= before <= _MOST_MARGIN and after <= _MOST_MARGIN
    return is_even


@compiled_inner
def whole_of(stored: Record) -> np.ndarray:
    """The cells of an array: int64 [dimensions, first and, without, last]."""
    cells = np.zeros((DIMENSIONS, 2), np.int64)
    for dimension in range(DIMENSIONS):
        cells[dimension, 1] = stored.shape[dimension]
    return cells


@compiled_inner
def margins_of(cells: np.ndarray, dimension: int, stored: Record) -> tuple[int, int]:
    """The margins, as ``isa.STORE`` has them."""
    first, last, size = cells[dimension, 0], cells[dimension, 1], stored.shape[dimension]
    if dimension:
        return first, size - last
    row = -(-(size << stored.element) // LINE_BYTES) * LINE_BYTES
    after = row - (last << stored.element) if last < size else 0
    return (first << stored.element) // WORD_BYTES, after // WORD_BYTES


@compiled_inner
def lines_of(cells: np.ndarray, stored: Record) -> int:
    """Lines of memory that have some of the cells."""
    first, last = cells[0, 0] << stored.element, cells[0, 1] << stored.element
    row = -(-last // LINE_BYTES) - first // LINE_BYTES
    return row * (cells[1, 1] - cells[1, 0]) * (cells[2, 1] - cells[2, 0])

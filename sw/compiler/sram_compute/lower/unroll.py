"""Steps of a whole program at given sizes: loops that run in order are unrolled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.sram_compute.isa import DIMENSIONS
from gnarl.sw.compiler.sram_compute.lower import steps
from gnarl.sw.compiler.sram_compute.lower.bounds import cells_of, value_of
from gnarl.sw.compiler.sram_compute.lower.finish import Finishes
from gnarl.sw.compiler.sram_compute.lower.new_steps import (
    computed,
    copied,
    move,
    moved,
    new_step,
    new_value,
)
from gnarl.sw.compiler.sram_compute.lower.records import Records
from gnarl.sw.compiler.sram_compute.lower.reduce import reduced
from gnarl.sw.compiler.sram_compute.lower.steps import (
    COPIED,
    FOR,
    MOVES,
    SHIFTED,
    STEPS,
    VALUES,
    Steps,
)
from gnarl.sw.compiler.sram_compute.lower.template import (
    AGAIN,
    COMPUTE,
    CONST,
    COPIES,
    REDUCE,
    REGION,
    REPEAT,
    SHIFT,
    SHRINK,
    TENSOR,
    Template,
)
from gnarl.sw.program.jit import compiled, compiled_inner

DONE, FULL, OUTSIDE, SEVERAL = range(4)
"""How it ends: well; without room; where an access leaves its array; where several cells are to be
copied."""

_MOST_STEPS = 4 * 32
"""Steps of a node: four for each halving of the longest line; as many values, and moves."""


class Ended(NamedTuple):
    """``how``; and of an access its number, dimension and index there, of copies how many cells
    there are."""

    how: int
    number: int
    dimension: int
    place: int


class _Region(NamedTuple):
    """What a region's nodes are made from: ``constants``, int64 [n], are their values; ``given``,
    those of its nodes; ``current``, of arrays; ``parts``, int64 [arrays], those whose ``cells``,
    int64 [arrays, dimensions, first and, without, last], arrays have got, or -1; ``writers``,
    int64 [arrays], outputs that wrote them. ``is_straight``: no loop runs in order, in which rows
    would get short of both those and whole arrays."""

    template: Template
    finishes: Finishes
    names: np.ndarray
    constants: Records
    given: np.ndarray
    current: np.ndarray
    parts: np.ndarray
    cells: np.ndarray
    writers: np.ndarray
    is_straight: bool
    found: Steps


@compiled
def program_steps(
    template: Template,
    finishes: Finishes,
    names: np.ndarray,
    shapes: np.ndarray,
    limits: np.ndarray,
    bits: np.ndarray,
    found: Steps,
) -> Ended:
    """Fills ``found``. O(nodes x iterations of loops in order).

    names
        int64 [names]: values of sizes and scalars.
    shapes, limits
        int64 [arrays, dimensions]; of those that accesses must keep to.
    bits
        int64 [constants].
    """
    names = names.copy()
    left = np.zeros(len(template.controls), np.int64)
    current, writers = np.arange(len(shapes)), np.zeros(len(shapes), np.int64)
    for array in range(len(shapes)):
        if template.is_own[array]:
            new_value(found, template.array_rows[array], 0, -1)
        else:
            new_value(found, template.array_rows[array], -1, array)
    constants = _constants(template, bits, found)
    given = np.empty(len(template.nodes), np.int64)
    parts = np.full(len(shapes), -1)
    cells = np.zeros((len(shapes), DIMENSIONS, 2), np.int64)
    is_straight = True
    for place in range(len(template.controls)):
        is_straight &= template.controls[place].kind == REGION
    region = _Region(
        template,
        finishes,
        names,
        constants,
        given,
        current,
        parts,
        cells,
        writers,
        is_straight,
        found,
    )
    place = 0
    while place < len(template.controls):
        control = template.controls[place]
        place += 1
        if control.kind == REGION:
            ended = _region(region, control.number, shapes, limits)
            if ended.how != DONE:
                return ended
            continue
        if control.kind == REPEAT:
            lower = value_of(template.bounds, control.lower, names)
            upper = value_of(template.bounds, control.upper, names)
            names[control.number] = lower
            left[place - 1] = -((lower - upper) // control.step)
            if left[place - 1] <= 0:
                place = control.jump
        elif control.kind == AGAIN:
            left[control.jump - 1] -= 1
            if left[control.jump - 1] > 0:
                names[control.number] += control.step
                place = control.jump
    if len(found.steps) - found.counts[STEPS] < len(template.results):
        return Ended(FULL, 0, 0, 0)
    for number in range(len(template.results)):
        array = template.results[number]
        found.counts[FOR] = writers[array]
        new_step(found, steps.KEEP, -1, current[array], array)
    return Ended(DONE, 0, 0, 0)


@compiled_inner
def _constants(template: Template, bits: np.ndarray, found: Steps) -> np.ndarray:
    """A value for each: those that are alike, one."""
    numbers = np.empty(len(bits), np.int64)
    for number in range(len(bits)):
        rows = template.constants[number].rows
        numbers[number] = -1
        for other in range(number):
            if bits[other] == bits[number] and template.constants[other].rows == rows:
                numbers[number] = numbers[other]
        if numbers[number] < 0:
            numbers[number] = new_value(found, rows, bits[number], -1)
    return numbers


@compiled_inner
def _region(region: _Region, number: int, shapes: np.ndarray, limits: np.ndarray) -> Ended:
    template, names, steps_so_far = region.template, region.names, region.found
    first, end = template.parts[number], template.parts[number + 1]
    for at in range(first.extents, end.extents):
        extent = template.extents[at]
        for place in range(extent.first, extent.end):
            size = value_of(template.bounds, template.sizes[place], names)
            is_first = place == extent.first
            names[extent.name] = size if is_first else max(names[extent.name], size)
    ended = _checked(template, first.accesses, end.accesses, names, limits)
    if ended.how != DONE:
        return ended
    cells = np.empty((DIMENSIONS, 2), np.int64)
    some = False
    for at in range(first.outputs, end.outputs):
        output = template.outputs[at]
        some |= cells_of(template.bounds, output.box, names, cells)
    if not some:
        return ended
    for at in range(first.nodes, end.nodes):
        if _is_full(steps_so_far):
            return Ended(FULL, 0, 0, 0)
        steps_so_far.counts[FOR] = template.nodes[at].output
        ended = _node(region, first.nodes, at, cells)
        if ended.how != DONE:
            return ended
    for at in range(first.outputs, end.outputs):
        output = template.outputs[at]
        if _is_full(steps_so_far):
            return Ended(FULL, 0, 0, 0)
        if cells_of(template.bounds, output.box, names, cells):
            value = region.given[first.nodes + output.node]
            steps_so_far.counts[FOR] = region.writers[output.array] = at
            _output(region, output.array, value, cells, shapes)
    return ended


@compiled_inner
def _is_full(found: Steps) -> bool:
    """Whether there may be too little room for one more node, or output."""
    return (
        len(found.values) - found.counts[VALUES] < _MOST_STEPS
        or len(found.steps) - found.counts[STEPS] < _MOST_STEPS
        or len(found.moved) - found.counts[MOVES] < _MOST_STEPS
    )


@compiled_inner
def _checked(
    template: Template, first: int, end: int, names: np.ndarray, limits: np.ndarray
) -> Ended:
    cells = np.empty((DIMENSIONS, 2), np.int64)
    for number in range(first, end):
        access = template.accesses[number]
        if not cells_of(template.bounds, access.cells, names, cells):
            continue
        cells_of(template.bounds, access.box, names, cells)
        for dimension in range(DIMENSIONS):
            low, high = cells[dimension, 0], cells[dimension, 1]
            if low < 0 or high > limits[access.array, dimension]:
                return Ended(OUTSIDE, number, dimension, low if low < 0 else high - 1)
    return Ended(DONE, 0, 0, 0)


@compiled_inner
def _node(region: _Region, first: int, number: int, cells: np.ndarray) -> Ended:
    template, names, found = region.template, region.names, region.found
    node = template.nodes[number]
    value = region.given[first + node.a]
    if node.kind == TENSOR:
        cells_of(template.bounds, node.box, names, cells)
        value = _tensor(region, node.number, cells)
    elif node.kind == CONST:
        value = region.constants[node.number]
    elif node.kind == SHIFT:
        cells_of(template.bounds, node.given, names, cells)
        distance = value_of(template.bounds, node.distance, names)
        value = moved(found, value, SHIFTED, node.dimension, distance, cells)
    elif node.kind == COPIES:
        cells_of(template.bounds, node.given, names, cells)
        place, end = cells[node.dimension, 0], cells[node.dimension, 1]
        if end - place != 1:
            return Ended(SEVERAL, 0, 0, end - place)
        line = np.empty((DIMENSIONS, 2), np.int64)
        cells_of(template.bounds, node.box, names, line)
        cells[node.dimension, 0] = line[node.dimension, 0]
        cells[node.dimension, 1] = line[node.dimension, 1]
        value = moved(found, value, COPIED, node.dimension, place, cells)
    elif node.kind == COMPUTE:
        operands = (value, region.given[first + node.b], region.given[first + node.c])
        value = computed(template, found, node.first, node.end, node.rows, operands)
    elif node.kind == REDUCE:
        cells_of(template.bounds, node.given, names, cells)
        identity = region.constants[node.number]
        value = reduced(template, region.finishes, found, node, value, identity, cells)
    else:
        assert node.kind == SHRINK
    region.given[number] = value
    return Ended(DONE, 0, 0, 0)


@compiled_inner
def _tensor(region: _Region, array: int, cells: np.ndarray) -> int:
    """A value that has these cells of an array: what it got last, if that is enough. Then memory
    may have the rest."""
    is_enough = region.parts[array] >= 0
    for dimension in range(DIMENSIONS):
        is_enough &= region.cells[array, dimension, 0] <= cells[dimension, 0]
        is_enough &= cells[dimension, 1] <= region.cells[array, dimension, 1]
    return int(region.parts[array] if is_enough else region.current[array])


@compiled_inner
def _output(region: _Region, array: int, value: int, cells: np.ndarray, shapes: np.ndarray) -> None:
    template, current, found = region.template, region.current, region.found
    is_whole = True
    for dimension in range(DIMENSIONS):
        is_whole &= cells[dimension, 0] == 0 and cells[dimension, 1] == shapes[array, dimension]
    region.parts[array] = -1
    if is_whole:
        is_own = not _is_shared(current, array, value)
        is_own &= found.values[value].array < 0 and found.values[value].constant < 0
        current[array] = value if is_own else copied(template, found, value)
        return
    result = current[array]
    is_own = found.values[result].array < 0 and found.values[result].constant < 0
    if not is_own or _is_shared(current, array, result):
        result = current[array] = copied(template, found, result)
    move(found, result, value, 1, SHIFTED, 0, 0, cells)
    for other in range(len(region.parts)):
        if region.parts[other] == result:
            region.parts[other] = -1
    if region.is_straight and found.values[value].array < 0:
        region.parts[array] = value
        region.cells[array] = cells


@compiled_inner
def _is_shared(current: np.ndarray, array: int, value: int) -> bool:
    """Whether another array has this value, too."""
    for other in range(len(current)):
        if other != array and current[other] == value:
            return True
    return False

"""Adds values, and steps that make them, to a program's."""

from __future__ import annotations

import numpy as np

from gnarl.hw.sram_compute.isa import DIMENSIONS
from gnarl.sw.compiler.sram_compute.lower import steps
from gnarl.sw.compiler.sram_compute.lower.records import Record
from gnarl.sw.compiler.sram_compute.lower.steps import FOR, MOVES, STEPS, VALUES, Steps
from gnarl.sw.compiler.sram_compute.lower.template import Template
from gnarl.sw.program.jit import compiled_inner


@compiled_inner
def new_value(found: Steps, rows: int, constant: int, array: int) -> int:
    """Its number; ``rows``, ``constant``, ``array``: as of ``VALUE``."""
    number = found.counts[VALUES]
    found.counts[VALUES] += 1
    value = found.values[number]
    value.rows, value.constant, value.array = rows, constant, array
    return number


@compiled_inner
def new_step(found: Steps, kind: int, result: int, a: int, detail: int) -> Record:
    """One that computes nothing from ``b`` and ``e``, and makes all of the result."""
    step = found.steps[found.counts[STEPS]]
    found.counts[STEPS] += 1
    step.kind, step.result, step.a, step.b, step.e = kind, result, a, -1, -1
    step.detail, step.is_partial, step.part = detail, 0, -1
    step.output = found.counts[FOR]
    return step


@compiled_inner
def move(
    found: Steps,
    result: int,
    operand: int,
    is_partial: int,
    how: int,
    dimension: int,
    by: int,
    cells: np.ndarray,
) -> None:
    """Cells come from an operand to the result, as ``MOVED`` has it."""
    number = found.counts[MOVES]
    found.counts[MOVES] += 1
    moved = found.moved[number]
    moved.how, moved.dimension, moved.by = how, dimension, by
    for at in range(DIMENSIONS):
        moved.cells[at, 0], moved.cells[at, 1] = cells[at, 0], cells[at, 1]
    step = new_step(found, steps.MOVE, result, operand, number)
    step.is_partial = is_partial


@compiled_inner
def moved(found: Steps, operand: int, how: int, dimension: int, by: int, cells: np.ndarray) -> int:
    """A value with nothing but what is moved there."""
    result = new_value(found, found.values[operand].rows, -1, -1)
    move(found, result, operand, 0, how, dimension, by, cells)
    return result


@compiled_inner
def computed(
    template: Template,
    found: Steps,
    first: int,
    end: int,
    rows: int,
    operands: tuple[int, int, int],
) -> int:
    """The value that the calculations from ``first`` to ``end``, without, make of operands."""
    result = new_value(found, rows, -1, -1)
    for number in range(first, end):
        each = template.calculations[number]
        step = new_step(found, steps.CALCULATE, result, -1, number)
        step.a = operands[each.a] if each.a >= 0 else -1
        step.b = operands[each.b] if each.b >= 0 else -1
        step.e = operands[each.e] if each.e >= 0 else -1
        step.is_partial = each.is_partial
    return result


@compiled_inner
def copied(template: Template, found: Steps, operand: int) -> int:
    """A value of its own that is as the operand."""
    value = found.values[operand]
    if value.constant >= 0:
        result = new_value(found, value.rows, -1, -1)
        new_step(found, steps.FILL, result, -1, value.constant)
        return result
    named = template.copies[value.rows]
    return computed(template, found, named, named + 1, value.rows, (operand, -1, -1))

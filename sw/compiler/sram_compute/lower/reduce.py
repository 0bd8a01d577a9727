"""Reductions of lines, step by step: by halves, or first in each tile, and then by stream engines.

Source: Infinity Stream, section 3.2, figure 4.
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.compiler.sram_compute.lower import steps
from gnarl.sw.compiler.sram_compute.lower.finish import Finishes
from gnarl.sw.compiler.sram_compute.lower.new_steps import (
    computed,
    copied,
    move,
    moved,
    new_step,
    new_value,
)
from gnarl.sw.compiler.sram_compute.lower.records import Record
from gnarl.sw.compiler.sram_compute.lower.steps import FOLDED, SHIFTED, Steps
from gnarl.sw.compiler.sram_compute.lower.template import Template
from gnarl.sw.program.jit import compiled_inner


@compiled_inner
def reduced(
    template: Template,
    finishes: Finishes,
    found: Steps,
    node: Record,
    operand: int,
    identity: int,
    cells: np.ndarray,
) -> int:
    """The value whose lines of ``cells``, in the node's dimension, have their sums in their first
    cells. ``identity``: the value that changes nothing."""
    dimension = node.dimension
    low, high = cells[dimension, 0], cells[dimension, 1]
    if low >= high:
        return identity
    bits = found.values[identity].constant
    if node.finish >= 0:
        kind = finishes.kinds[node.finish]
        if kind.first < kind.end:
            return _finished(template, kind, found, node, operand, bits, cells)
    return _by_halves(template, found, node, operand, bits, cells)


@compiled_inner
def _by_halves(
    template: Template, found: Steps, node: Record, operand: int, bits: int, cells: np.ndarray
) -> int:
    """What has no partner is combined with what changes nothing."""
    dimension, total = node.dimension, operand
    low, high = cells[dimension, 0], cells[dimension, 1]
    while high - low > 1:
        half = 1
        while 2 * half < high - low:
            half *= 2
        cells[dimension, 0], cells[dimension, 1] = low + half, high
        partner = new_value(found, node.rows, -1, -1)
        new_step(found, steps.FILL, partner, -1, bits)
        move(found, partner, total, 1, SHIFTED, dimension, -half, cells)
        pair = (total, partner, -1)
        total = computed(template, found, node.first, node.end, node.rows, pair)
        high = low + half
    return total


@compiled_inner
def _finished(
    template: Template,
    kind: Record,
    found: Steps,
    node: Record,
    operand: int,
    bits: int,
    cells: np.ndarray,
) -> int:
    """Tiles by halves, then by stream engines. What is beyond the end of the line, in its last tile
    or behind that, changes nothing."""
    dimension, total = node.dimension, operand
    if cells[dimension, 1] < kind.extent:
        total = new_value(found, node.rows, -1, -1)
        new_step(found, steps.FILL if kind.is_in_one_bank else steps.FLOOD, total, -1, bits)
        move(found, total, operand, 1, SHIFTED, dimension, 0, cells)
    elif kind.tile == kind.kept:
        total = copied(template, found, operand)
    half = kind.tile // 2
    while half >= kind.kept:
        partner = moved(found, total, FOLDED, dimension, half, cells)
        pair = (total, partner, -1)
        total = computed(template, found, node.first, node.end, node.rows, pair)
        half //= 2
    step = new_step(found, steps.FINISH, total, -1, node.finish)
    step.is_partial = 1
    return total

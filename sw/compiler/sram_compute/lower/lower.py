"""Plans at given sizes as programs of commands. Source: Infinity Stream, section 4.2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hw.lib.errors import CapacityError
from hw.sram_compute.config import LINE_WORDS, SramConfig
from hw.sram_compute.isa import UNIT_WORDS
from sw.compiler.sram_compute.lower.allocate import Allocated, allocate
from sw.compiler.sram_compute.lower.estimate import estimate
from sw.compiler.sram_compute.lower.lattice import Stored
from sw.compiler.sram_compute.lower.schedule import SCHEDULES
from sw.compiler.sram_compute.lower.unroll import Lowering, unroll
from sw.compiler.sram_compute.tdfg.plan import Step
from sw.compiler.sram_compute.tiles import Tiling
from sw.workloads.loops.binding import Binding
from sw.workloads.loops.nest import Nest

_LINE_UNITS = LINE_WORDS // UNIT_WORDS


@dataclass(frozen=True, eq=False)
class Lowered:
    """A program, which lies from line 0 of memory on.

    units
        uint32 [units, words of a unit].
    arrays
        where each array lies behind it, by name.
    estimate
        about how many cycles it takes.
    returns
        how often a value is loaded that had been in rows before.
    """

    units: np.ndarray
    commands: int
    arrays: dict[str, Stored]
    tiling: Tiling
    estimate: int
    returns: int


def lower(nest: Nest, plan: tuple[Step, ...], binding: Binding, config: SramConfig) -> Lowered:
    """Raises ``WorkloadError`` for what banks do not compute, and ``CapacityError`` naming what is
    too small. Of the ``SCHEDULES`` the first with which no value has to be loaded twice, else
    the one that seems the fastest. O(commands)."""
    best: tuple[int, Allocated, dict[str, Stored], Tiling] | None = None
    for schedule in SCHEDULES:
        found = unroll(nest, plan, binding, config, schedule)
        arrays = placed(found)
        line = sum(each.lines for each in arrays.values())
        allocated = allocate(found.steps, arrays, found.tiling, config, line)
        cycles = estimate(allocated.commands, config)
        if best is None or cycles < best[0]:
            best = cycles, allocated, arrays, found.tiling
        if not allocated.returns:
            break
    assert best is not None
    cycles, allocated, arrays, tiling = best
    line = sum(each.lines for each in arrays.values())
    lines = line + allocated.lines
    count = allocated.commands.unit_count
    offset = -(-count // _LINE_UNITS)
    if offset + lines > config.memory_lines:
        raise CapacityError(
            f"{count} units of commands and {lines} lines of arrays need {offset + lines} lines "
            f"of memory: there are {config.memory_lines}"
        )
    moved = {
        name: Stored(each.type, each.shape, each.first_line + offset)
        for name, each in arrays.items()
    }
    units = allocated.commands.units(offset)
    return Lowered(units, len(allocated.commands), moved, tiling, cycles, allocated.returns)


def placed(found: Lowering) -> dict[str, Stored]:
    """Arrays one behind the other, from line 0 on."""
    arrays: dict[str, Stored] = {}
    line = 0
    for name, (type, shape) in found.arrays.items():
        arrays[name] = Stored(type, shape, line)
        line += arrays[name].lines
    return arrays

"""Commands for arrays that banks have no room for: slab by slab."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.command_places import CommandPlaces, joined_places
from gnarl.sw.compiler.sram_compute.lower.lattice import (
    LatticeError,
    line_elements,
    padded,
    stored,
    tiling_of,
)
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator, MemoryCode
from gnarl.sw.compiler.sram_compute.tdfg.graph import mentioned_arrays
from gnarl.sw.compiler.sram_compute.tdfg.line_sums import TileOrder
from gnarl.sw.compiler.sram_compute.tdfg.plan import Repeat, Step, regions
from gnarl.sw.compiler.sram_compute.tdfg.slabs import (
    BASE,
    END,
    FIRST,
    ROWS,
    SlabError,
    SlabPlan,
    halo,
    slab_plan,
)
from gnarl.sw.compiler.sram_compute.tile_choice import TileChoice, generate_in_tile
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import Array, Nest


@dataclass(frozen=True, eq=False)
class Slab:
    """Commands, on parts of arrays; ``lines``: of whole arrays those before their parts."""

    code: MemoryCode
    lines: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Slabs:
    """One after the other, none where loops have no iterations; the rest is as ``MemoryCode`` has
    it."""

    slabs: tuple[Slab, ...]

    @property
    def estimate(self) -> int:
        return sum(slab.code.estimate for slab in self.slabs)

    @property
    def returns(self) -> int:
        return sum(slab.code.returns for slab in self.slabs)

    @property
    def orders(self) -> Mapping[int, TileOrder]:
        return self.slabs[0].code.orders if self.slabs else {}

    @property
    def places(self) -> CommandPlaces:
        return joined_places(slab.code.places for slab in self.slabs)


class SlabCodeGenerator:
    """Lowers one plan by slabs: all of it for one slab after the other, or, where other slabs write
    what a slab reads, step by step, and iteration by iteration of loops in order."""

    def __init__(self, nest: Nest, plan: tuple[Step, ...], config: SramConfig) -> None:
        self._nest = nest
        self._plan = plan
        self._config = config
        self._steps = cache(self._new_steps)

    def generate(self, binding: Binding, tile: TileChoice) -> Slabs:
        """Raises as ``CodeGenerator.generate`` does, and ``WorkloadError`` saying why there are no
        slabs. O(commands)."""
        slabs = tuple(self._slabs(self._plan, binding, tile))
        if any(each.code.orders != slabs[0].code.orders for each in slabs):
            raise CapacityError("sums of the slabs would be in different orders")
        return Slabs(slabs)

    def _slabs(self, steps: tuple[Step, ...], binding: Binding, tile: TileChoice) -> Iterator[Slab]:
        try:
            yield from self._steps(steps).slabs(binding, tile)
        except SlabError:
            for inner, sizes in _apart(steps, _names(binding)):
                part = replace(binding, sizes={**binding.sizes, **sizes})
                yield from self._slabs(inner, part, tile)

    def _new_steps(self, steps: tuple[Step, ...]) -> _Steps:
        used = {name for region in regions(steps) for name in mentioned_arrays(region.graph)}
        kept = tuple(
            each
            for each in self._nest.parameters
            if each.name in used or not isinstance(each, Array)
        )
        return _Steps(replace(self._nest, parameters=kept), steps, self._config)


def _apart(
    steps: tuple[Step, ...], names: Mapping[str, int]
) -> Iterator[tuple[tuple[Step, ...], dict[str, int]]]:
    """Splits steps, in order, into what can be done for itself, with values of loop variables.
    Raises what is being handled where that is one region."""
    if len(steps) > 1:
        for each in steps:
            yield (each,), {}
        return
    (step,) = steps
    if not isinstance(step, Repeat):
        raise
    for value in range(step.lower.value(names), step.upper.value(names), step.step):
        yield step.body, {step.variable: value}


def _names(binding: Binding) -> dict[str, int]:
    """Sizes and scalars."""
    scalars = {name: value.item() for name, value in binding.scalars.items()}
    return {**binding.sizes, **scalars}


class _Steps:
    """Steps that are done for one slab after the other; slabs are as few as there can be, of about
    the same number of rows."""

    def __init__(self, nest: Nest, plan: tuple[Step, ...], config: SramConfig) -> None:
        self._nest = nest
        self._plan = plan
        self._config = config

    def slabs(self, binding: Binding, tile: TileChoice) -> list[Slab]:
        """Raises as ``SlabCodeGenerator.generate`` does."""
        generated: list[Slab] = []
        for part, lines in self._parts(binding, tile):
            if generated:
                code = self._generator.generate(part, generated[0].code.tiling.tile, binding)
            else:
                code = generate_in_tile(self._generator, part, tile, binding)
            generated.append(Slab(code, lines))
        return generated

    @cached_property
    def _of_slab(self) -> SlabPlan:
        return slab_plan(
            self._plan, {name: len(each.shape) for name, each in self._nest.arrays.items()}
        )

    @cached_property
    def _generator(self) -> CodeGenerator:
        return CodeGenerator(self._nest, self._of_slab.steps, self._config)

    @cached_property
    def _unit(self) -> int:
        """The first row of a slab is a multiple of it, so that lines are whole."""
        if self._of_slab.dimension:
            return 1
        return max(line_elements(self._nest.arrays[name].type) for name in self._of_slab.arrays)

    def _parts(
        self, binding: Binding, tile: TileChoice
    ) -> Iterator[tuple[Binding, dict[str, int]]]:
        """What each slab has of arrays, and the lines before it."""
        before, behind = halo(self._plan, self._of_slab, _names(binding))
        before, behind = self._whole_units(before), self._whole_units(behind)
        all_rows = max(len(binding.arrays[name]) for name in self._of_slab.arrays)
        written = max(len(binding.arrays[name]) for name in self._of_slab.written)
        rows = self._rows(binding, written, before + behind, tile)
        for first in range(0, written, rows):
            end = min(first + rows, written)
            base, last = max(0, first - before), min(end + behind, all_rows)
            names = {BASE: base, FIRST: first - base, END: end - base, ROWS: last - base}
            arrays = self._rows_of(binding, base, last)
            part = Binding({**binding.sizes, **names}, binding.scalars, arrays)
            yield part, {name: self._lines_before(binding, name, base) for name in arrays}

    def _whole_units(self, rows: int) -> int:
        return -(-rows // self._unit) * self._unit

    def _rows_of(self, binding: Binding, base: int, last: int) -> dict[str, np.ndarray]:
        rows = {}
        for name in self._nest.arrays:
            array = binding.arrays[name]
            if name in self._of_slab.arrays:
                if base >= len(array):
                    raise CapacityError(
                        f"{name}: has {len(array)} rows, none for the slab from row {base} on"
                    )
                array = array[base:last]
            rows[name] = array
        return rows

    def _lines_before(self, binding: Binding, name: str, base: int) -> int:
        if name not in self._of_slab.arrays or not base:
            return 0
        shape = padded((base, *binding.arrays[name].shape[1:])[::-1])
        (before,) = stored([self._nest.arrays[name].type], [shape], 0, 1)
        return before.lines

    def _rows(self, binding: Binding, written: int, around: int, tile: TileChoice) -> int:
        """The number of rows that a slab writes. ``around``: rows of its halo."""
        fits, is_too_many = 0, -(-written // self._unit)
        while is_too_many - fits > 1:
            units = (fits + is_too_many) // 2
            try:
                self._require_tiles(binding, units * self._unit + around, tile)
            except LatticeError:
                is_too_many = units
            else:
                fits = units
        if not fits:
            self._require_tiles(binding, self._unit + around, tile)
            fits = 1
        count = -(-written // (fits * self._unit))
        return self._whole_units(-(-written // count))

    def _require_tiles(self, binding: Binding, rows: int, tile: TileChoice) -> None:
        """Raises ``LatticeError`` where a slab of so many rows has not enough."""
        types = [array.type for array in self._nest.arrays.values()]
        shapes = [padded(each.shape[::-1]) for each in self._rows_of(binding, 0, rows).values()]
        tiling_of(types, shapes, self._config, tile if isinstance(tile, tuple) else None)

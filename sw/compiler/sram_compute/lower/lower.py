"""Plans at given sizes as programs of commands. Source: Infinity Stream, section 4.2."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from gnarl.hw.lib.errors import CapacityError, ProgramError, WorkloadError
from gnarl.hw.lib.lines.line_size import LINE_BYTES
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import DIMENSIONS, LINE_UNITS
from gnarl.sw.compiler.sram_compute.command_places import CommandPlaces
from gnarl.sw.compiler.sram_compute.lower import allocate as allocation
from gnarl.sw.compiler.sram_compute.lower import unroll as ends
from gnarl.sw.compiler.sram_compute.lower.allocate import allocate
from gnarl.sw.compiler.sram_compute.lower.columns import COLUMNS, OUTPUT
from gnarl.sw.compiler.sram_compute.lower.commands import (
    ENCODING,
    encode,
    tally,
    unit_count,
)
from gnarl.sw.compiler.sram_compute.lower.finish import Finishes, finishes, orders_of
from gnarl.sw.compiler.sram_compute.lower.lattice import (
    Shape,
    Stored,
    aligned,
    padded,
    stored,
    tiling_of,
    tilings_of,
)
from gnarl.sw.compiler.sram_compute.lower.movement import movements
from gnarl.sw.compiler.sram_compute.lower.rows import BANK, STORED
from gnarl.sw.compiler.sram_compute.lower.sample import Sample, sampled
from gnarl.sw.compiler.sram_compute.lower.schedule import SCHEDULES, Schedule
from gnarl.sw.compiler.sram_compute.lower.select import bits_of
from gnarl.sw.compiler.sram_compute.lower.steps import COPIED, MOVES, Steps, room
from gnarl.sw.compiler.sram_compute.lower.template import Prepared, prepare
from gnarl.sw.compiler.sram_compute.lower.unroll import Ended, program_steps
from gnarl.sw.compiler.sram_compute.tdfg.graph import Broadcast, Move, Reduce
from gnarl.sw.compiler.sram_compute.tdfg.line_sums import TileOrder
from gnarl.sw.compiler.sram_compute.tdfg.plan import Repeat, Step, regions
from gnarl.sw.compiler.sram_compute.tiles import Tile, Tiling, tiles_of
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import Nest

_REMEMBERED = 64
"""Sizes for which commands are kept."""

_ROOM = 1 << 12
"""Steps, at first."""


@dataclass(frozen=True, eq=False)
class MemoryCode:
    """A program, which lies from line 0 of memory on.

    units
        uint32 [units, words of a unit].
    arrays
        where each array lies behind it, by name.
    estimate
        about how many cycles it takes.
    returns
        how often a value is loaded that had been in rows before.
    orders
        by dimension, those of lines whose sums stream engines finish.
    places
        in the source, of all commands but the ``END``.
    """

    units: np.ndarray
    commands: int
    arrays: dict[str, Stored]
    tiling: Tiling
    estimate: int
    returns: int
    orders: Mapping[int, TileOrder]
    places: CommandPlaces


def generate(
    nest: Nest,
    plan: tuple[Step, ...],
    binding: Binding,
    config: SramConfig,
    tile: Tile | None = None,
) -> MemoryCode:
    """Generates code once, see ``CodeGenerator``."""
    return CodeGenerator(nest, plan, config).generate(binding, tile)


class _Sizes(NamedTuple):
    """What commands depend on: shapes of arrays, dimension 0 last; sizes by name; bytes of
    scalars; the tile, where it is given. ``limits``: shapes that accesses must keep to."""

    shapes: tuple[Shape, ...]
    limits: tuple[Shape, ...]
    sizes: tuple[tuple[str, int], ...]
    scalars: tuple[bytes, ...]
    tile: Tile | None


class _Given(NamedTuple):
    """The same, as compiled functions take it.

    names
        sizes and scalars.
    shapes, limits
        int64 [arrays, dimensions], dimension 0 first.
    arrays, lines
        ``STORED`` [arrays], from line 0 on, and how many lines they have.
    tiling, tiles
        the same as ``TILES`` [1].
    """

    sizes: _Sizes
    names: dict[str, int | float]
    shapes: np.ndarray
    limits: np.ndarray
    arrays: np.ndarray
    lines: int
    tiling: Tiling
    tiles: np.ndarray


class _Found(NamedTuple):
    """Commands, int64 [n, columns and ``OUTPUT``]; about how many cycles they take; lines of memory
    of all arrays; how often a value is loaded that had been in rows before; as
    ``MemoryCode.orders``."""

    rows: np.ndarray
    cycles: int
    lines: int
    returns: int
    orders: Mapping[int, TileOrder]


def _beyond(moved: np.ndarray, tiles: np.ndarray) -> ProgramError:
    """The error of ``MOVED`` and ``TILES``, one each: something that only a graph read from a file
    may contain."""
    cells, shape = moved["cells"].tolist(), tiles["shape"].tolist()
    what = f"copies cell {moved['by']} to" if moved["how"] == COPIED else "moves"
    boxes = " x ".join(f"{first}..{end - 1}" for first, end in cells)
    return ProgramError(
        f"section 'graphs': {what} cells {boxes} along dimension {moved['dimension']}: must be "
        f"within the lattice, {' x '.join(map(str, shape))}"
    )


def _moves(plan: tuple[Step, ...]) -> np.ndarray:
    """Moves, copies and sums in each dimension: int64 [dimensions]."""
    moves = np.zeros(DIMENSIONS, np.int64)
    for region in regions(plan):
        for node in region.graph.nodes:
            if isinstance(node, Move | Broadcast | Reduce):
                moves[node.dimension] += 1
    return moves


class OutsideError(WorkloadError):
    """Iterations leave an array, wherever they run."""


class CodeGenerator:
    """Lowers one plan, at any sizes, and remembers the commands. Source: Infinity Stream, 4.2.

    All arrays of ``nest`` lie in the same tiles; bindings may have others. ``arrays_first``: as
    ``allocate`` has it. ``own``: arrays that begin as zeros, and that nobody needs in memory.
    """

    def __init__(
        self,
        nest: Nest,
        plan: tuple[Step, ...],
        config: SramConfig,
        *,
        arrays_first: bool = False,
        own: Collection[str] = (),
    ) -> None:
        self._arrays_first = arrays_first
        self._own = own
        self._nest = nest
        self._plan = plan
        self._config = config
        self._types = [array.type for array in nest.arrays.values()]
        self._moves = _moves(plan)
        self._prepared = cache(self._prepare)
        self._remembered = lru_cache(_REMEMBERED)(self._generate)
        self._tally = tally(config)
        self._steps = self._commands = _ROOM

    def generate(
        self, binding: Binding, tile: Tile | None = None, whole: Binding | None = None
    ) -> MemoryCode:
        """The code for a binding's sizes and scalars. ``tile``: as ``tiling_of`` has it; ``whole``:
        where ``binding`` has parts of arrays, all of them, which accesses must keep to. Raises
        ``WorkloadError`` for what banks do not compute and for iterations that leave an array, and
        ``CapacityError`` naming what is too small. Of the ``SCHEDULES`` the first with which no
        value has to be loaded twice, else the one that seems the fastest; of memory alone and
        stream engines for the ends of sums, what seems the fastest. O(commands)."""
        limits = binding if whole is None else whole
        return self._remembered(
            _Sizes(
                tuple([binding.arrays[name].shape for name in self._nest.arrays]),
                tuple([limits.arrays[name].shape for name in self._nest.arrays]),
                tuple(binding.sizes.items()),
                tuple([value.tobytes() for value in binding.scalars.values()]),
                tile,
            )
        )

    def tilings(self, binding: Binding) -> list[Tiling]:
        """All that fit, with extents of 1 in dimensions that no array has. Raises
        ``CapacityError`` where none does."""
        arrays = [binding.arrays[name] for name in self._nest.arrays]
        rank = max(array.ndim for array in arrays)
        shapes = [padded(array.shape[::-1]) for array in arrays]
        fitting = tilings_of(self._types, shapes, self._config)
        return [each for each in fitting if set(each.tile[rank:]) <= {1}]

    def forget(self) -> None:
        """What has been lowered is lowered again."""
        self._remembered.cache_clear()

    def _prepare(self, schedule: Schedule) -> Prepared:
        return prepare(self._nest, self._plan, self._config, schedule, self._own)

    def _generate(self, sizes: _Sizes) -> MemoryCode:
        shapes = [padded(shape[::-1]) for shape in sizes.shapes]
        for name, shape in zip(self._nest.arrays, shapes, strict=True):
            if min(shape) == 0:
                raise WorkloadError(
                    f"{name}: has no element: must have some to be placed in memory"
                )
        tile = sizes.tile or self._sampled_tile(sizes, shapes)
        tiling = tiling_of(self._types, shapes, self._config, tile, self._moves)
        channels = self._config.memory_channels
        arrays = stored(self._types, shapes, 0, channels)
        arguments = _Given(
            sizes,
            {**dict(sizes.sizes), **self._scalars(sizes)},
            np.array(shapes, np.int64),
            np.array([padded(shape[::-1]) for shape in sizes.limits], np.int64),
            np.array([(each.element, each.first_line, each.shape) for each in arrays], STORED),
            aligned(max(each.first_line + each.lines for each in arrays), channels),
            tiling,
            tiles_of(tiling, self._config.tiles),
        )
        manners = self._orders(tiling)
        best = min((self._found(arguments, each) for each in manners), key=lambda each: each.cycles)
        count = unit_count(best.rows, ENCODING.units)
        offset = aligned(-(-count // LINE_UNITS), channels)
        if offset + best.lines > self._config.memory_lines:
            needed = (offset + best.lines) * LINE_BYTES
            raise CapacityError(
                f"memory_bytes = {self._config.memory_bytes}: must be at least "
                f"{1 << (needed - 1).bit_length()}, for {count} units of commands and {best.lines} "
                "lines of arrays"
            )
        moved = stored(self._types, shapes, offset, channels)
        return MemoryCode(
            encode(best.rows, ENCODING, count, offset),
            len(best.rows),
            dict(zip(self._nest.arrays, moved, strict=True)),
            tiling,
            best.cycles,
            best.returns,
            best.orders,
            CommandPlaces(self._prepared(SCHEDULES[0]).stores, best.rows[:-1, OUTPUT].copy()),
        )

    @cached_property
    def _sample(self) -> tuple[Sample, CodeGenerator]:
        found = sampled(self._plan)
        return found, CodeGenerator(self._nest, found.steps, self._config, own=self._own)

    def _sampled_tile(self, sizes: _Sizes, shapes: list[Shape]) -> Tile | None:
        """The tile by a sample, where loops in order have many iterations."""
        if not any(isinstance(step, Repeat) for step in self._plan):
            return None
        sample, generator = self._sample
        rank = max(len(shape) for shape in sizes.shapes)
        tilings = tilings_of(self._types, shapes, self._config)
        tiles = [each.tile for each in tilings if set(each.tile[rank:]) <= {1}]

        def estimate(names: Mapping[str, int], tile: Tile) -> int:
            return generator._generate(sizes._replace(sizes=(*names.items(),), tile=tile)).estimate

        scalars = self._scalars(sizes).items()
        whole = {name: value for name, value in scalars if isinstance(value, int)}
        return sample.tile({**dict(sizes.sizes), **whole}, tiles, estimate)

    def _orders(self, tiling: Tiling) -> list[dict[int, TileOrder]]:
        """Orders in which sums may be added up, by dimension; at first, in memory alone."""
        kinds = self._prepared(SCHEDULES[0]).finishes
        choices: list[dict[int, TileOrder]] = [{}]
        if kinds and self._config.near_lanes:
            dimensions = [each.dimension for each in kinds]
            for keeps in (True, False):
                orders = orders_of(dimensions, tiling, self._config, keeps=keeps)
                if orders not in choices:
                    choices.append(orders)
        return choices

    def _found(self, given: _Given, orders: Mapping[int, TileOrder]) -> _Found:
        best: _Found | None = None
        for schedule in SCHEDULES:
            allocated = self._allocated(self._prepared(schedule), given, orders)
            if best is None or allocated.cycles < best.cycles:
                best = allocated
            if not allocated.returns:
                break
        assert best is not None
        return best

    def _scalars(self, sizes: _Sizes) -> dict[str, int | float]:
        pairs = zip(self._nest.scalars.values(), sizes.scalars, strict=True)
        return {
            each.name: np.frombuffer(octets, each.type.dtype)[0].item() for each, octets in pairs
        }

    def _allocated(
        self, prepared: Prepared, given: _Given, orders: Mapping[int, TileOrder]
    ) -> _Found:
        config = self._config
        finished = finishes(prepared.finishes, orders, given.tiling, config)
        steps = self._program_steps(prepared, given, finished)
        moved = self._moved(steps, given.tiles)
        while True:
            rows, counts = np.empty((self._commands, OUTPUT + 1), np.int64), self._tally.copy()
            allocated = allocate(
                prepared.template.calculations,
                given.tiles,
                steps,
                moved,
                finished,
                given.arrays,
                given.lines,
                config.wordlines,
                rows,
                counts,
                np.zeros(1, BANK),
                self._arrays_first,
            )
            if allocated.how == allocation.FEW:
                raise CapacityError(
                    f"wordlines = {config.wordlines}: must be at least {2 * config.wordlines}, for "
                    f"a step that needs {allocated.rows} rows beside its operands"
                )
            if allocated.how == allocation.DONE:
                count, cycles = int(counts["commands"][0]), int(counts["clock"]["cycle"][0])
                lines = given.lines + allocated.lines
                return _Found(rows[:count], cycles, lines, allocated.returns, orders)
            self._commands *= 2

    def _moved(self, steps: Steps, tiles: np.ndarray) -> np.ndarray:
        while True:
            rows = np.empty((self._commands, COLUMNS + 1), np.int64)
            count = movements(steps.moved[: steps.counts[MOVES]], tiles, rows)
            if count >= 0:
                return rows[:count]
            if count < -1:
                raise _beyond(steps.moved[-2 - count], tiles[0])
            self._commands *= 2

    def _program_steps(self, prepared: Prepared, given: _Given, made: Finishes) -> Steps:
        template, shapes = prepared.template, given.shapes
        bits = template.constants["bits"].copy()
        for number, name, type in prepared.scalars:
            bits[number] = bits_of(given.names[name], type)
        # Variables of loops, and extents of lattices, have values only then.
        names = np.array([int(given.names.get(name, 0)) for name in prepared.names], np.int64)
        while True:
            count = self._steps
            steps = room(count + len(shapes) + len(bits), count)
            ended = program_steps(template, made, names, shapes, given.limits, bits, steps)
            if ended.how == ends.DONE:
                return steps
            if ended.how != ends.FULL:
                raise self._problem(prepared, ended, given.sizes)
            self._steps *= 2

    def _problem(self, prepared: Prepared, ended: Ended, sizes: _Sizes) -> WorkloadError:
        if ended.how == ends.SEVERAL:
            return WorkloadError(f"copies of {ended.place} cells are not supported")
        array = prepared.template.accesses[ended.number]["array"]
        dimension = len(sizes.limits[array]) - 1 - ended.dimension
        return OutsideError(
            f"{prepared.places[ended.number]}: {list(self._nest.arrays)[array]}: index "
            f"{ended.place} in dimension {dimension}: must be at least 0 and less than "
            f"{sizes.limits[array][dimension]}"
        )

"""Sums that arrays begin and stream engines finish, as commands. Source: Infinity Stream, 5.1.

Arrays sum up each tile by halves, all at once, down to some partial sums that lie in one strip.
Engines read these, transposed as they are, add up those of their bank's tiles, then those of banks,
then elements of a strip, and write the sum to the first cell of its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import STRIP, WORD_BITS, Opcode, Second, When
from gnarl.hw.sram_compute.program import Command, command
from gnarl.hw.sram_compute.streams.word_network import word_cycles
from gnarl.sw.compiler.sram_compute.lower.columns import table
from gnarl.sw.compiler.sram_compute.lower.records import Records
from gnarl.sw.compiler.sram_compute.lower.select import bits_of
from gnarl.sw.compiler.sram_compute.near.expressions import operation_of
from gnarl.sw.compiler.sram_compute.tdfg.functions import identity
from gnarl.sw.compiler.sram_compute.tdfg.line_sums import TileOrder
from gnarl.sw.compiler.sram_compute.tiles import Tiling
from gnarl.sw.workloads.loops.ir.scalar_type import ScalarType


class Finish(NamedTuple):
    """A kind of reduction: ``function`` along a dimension."""

    dimension: int
    function: str
    type: ScalarType


FINISH = np.dtype(
    [(name, np.int64) for name in ("first", "end", "tile", "kept", "extent", "is_in_one_bank")]
)
"""Fields of a ``Finish``: where its commands are, none where banks do all; cells of a line in a
tile, and partial sums that are left of them; cells of all tiles that engines read."""


class Finishes(NamedTuple):
    """Commands that finish sums, of all kinds.

    kinds
        ``FINISH`` [n].
    rows, cycles
        int64 [commands, columns], in which rows of streams are 0; int64 [commands], about how long
        each takes.
    """

    kinds: Records
    rows: np.ndarray
    cycles: np.ndarray


_TOTAL, _ROTATED, _BANK = range(3)
"""Registers."""

_FIRST, _LAST = 1 << When.FIRST_Y, 1 << When.LAST_Y

_BEGIN, _DRAIN = 12, 8
"""Cycles in which a loop begins and ends; and in which the transposer waits."""


def orders_of(
    dimensions: Sequence[int], tiling: Tiling, config: SramConfig, *, keeps: bool
) -> dict[int, TileOrder]:
    """Orders of tiles by dimension, where engines can finish sums. ``keeps``: whether arrays leave
    as many partial sums as a strip can have, or one in each tile.

    One halving costs the same in all of a line, and so does one rotation of a strip; so no number
    between these two is better than both.
    """
    orders = {each: _order(each, tiling, config, keeps) for each in dimensions}
    return {dimension: order for dimension, order in orders.items() if order is not None}


def _order(dimension: int, tiling: Tiling, config: SramConfig, keeps: bool) -> TileOrder | None:
    """Lines must lie within a bank each, or in the only bank that there is; or begin in the first
    one and go through all banks alike."""
    tile, grid = tiling.tile[dimension], tiling.grid[dimension]
    stride = tiling.tile_strides[dimension]
    kept = min(tile, max(1, STRIP // tiling.bit_strides[dimension])) if keeps else 1
    if tiling.tiles <= config.arrays or config.arrays % (stride * grid) == 0:
        tiles, banks = grid, 1
    elif config.arrays % stride == 0 and stride * grid == tiling.tiles:
        tiles = config.arrays // stride
        banks = -(-grid // tiles)
    else:
        return None
    return TileOrder(tile, kept, tiles, banks) if kept * tiles * banks > 1 else None


def finishes(
    kinds: Sequence[Finish],
    orders: Mapping[int, TileOrder],
    tiling: Tiling,
    config: SramConfig,
) -> Finishes:
    """Commands of all kinds, each of which has none where its dimension is not in ``orders``."""
    finished = np.zeros(len(kinds), FINISH)
    rows, cycles = [table([])], list[int]()
    for number, kind in enumerate(kinds):
        first, order = len(cycles), orders.get(kind.dimension)
        if order is not None:
            for commands, spent in _commands(kind, order, tiling, config):
                rows.append(commands)
                cycles += [0] * (len(commands) - 1) + [spent]
            extent = order.tile * order.tiles * order.banks
            is_in_one_bank = order.banks == 1
            finished[number] = first, len(cycles), order.tile, order.kept, extent, is_in_one_bank
    return Finishes(finished, np.concatenate(rows), np.array(cycles, np.int64))


def _commands(
    kind: Finish, order: TileOrder, tiling: Tiling, config: SramConfig
) -> Iterator[tuple[np.ndarray, int]]:
    """Rows of commands, and the cycles that the last of them takes."""
    bank_bits = config.arrays * config.bitlines
    apart = tiling.tile_strides[kind.dimension] * tiling.bitlines
    engines = min(config.banks, -(-tiling.tiles // config.arrays))
    crossing = STRIP * word_cycles(config.network_bits)
    bits, is_in_one_bank = tiling.bit_strides[kind.dimension], order.banks == 1
    programs = _programs(kind, order.kept, bits, is_in_one_bank)
    steps = (order.tiles, apart, engines, STRIP), (order.banks, bank_bits, 1, crossing)
    for program, (count, by, strips, reading) in zip(programs, steps, strict=False):
        if len(program.rows):
            yield program.rows, 0
        for loop in _loops(order, tiling, kind.dimension, config):
            stream = _stream(loop, (count - 1) * by, by, config)
            near = command(
                Opcode.NEAR,
                last=program.last,
                counts=(STRIP * strips, count, loop.strips),
                span=1,
                is_final=1,
            )
            yield table([stream, near]), _cycles(program, loop.strips, count, reading)


class _Program(NamedTuple):
    """A program of stream engines.

    rows
        of operations that are set before, int64 [operations, columns].
    last
        the last one that runs.
    rare
        how many of those that run do so for the first or the last y alone.
    """

    rows: np.ndarray
    last: int
    rare: int


@lru_cache(maxsize=64)
def _programs(kind: Finish, kept: int, bits: int, is_in_one_bank: bool) -> list[_Program]:
    """Programs for the tiles of a bank, and where there are several, for banks. ``bits``: bitlines
    from one partial sum to the next."""
    begin = [*_beginning(kind), *_summing(kind)]
    end = [*_rotations(kind, kept, bits), *_stores(len(_distances(kept, bits)))]
    if is_in_one_bank:
        return [_program(begin, end, 0)]
    own = _stores(0)
    return [_program(begin, own, 0), _program(begin, end, len(begin) if own != end else None)]


def _program(
    begin: Sequence[dict[str, Any]], end: Sequence[dict[str, Any]], first: int | None
) -> _Program:
    """A program of operations. ``first``: of the operations that have not been set, if there are
    some."""
    operations = [*begin, *end]
    slots = range(len(operations) if first is None else first, len(operations))
    rows = table(command(Opcode.OPERATION, slot=slot, **operations[slot]) for slot in slots)
    return _Program(rows, len(operations) - 1, sum("when" in each for each in operations))


class _Loop(NamedTuple):
    """Strips of a bank: the first one's first bitline, how many, and bitlines between them."""

    first: int
    strips: int
    apart: int


def _loops(order: TileOrder, tiling: Tiling, dimension: int, config: SramConfig) -> Iterator[_Loop]:
    """All strips of a bank that lines begin in."""
    bits, stride = tiling.bit_strides[dimension], tiling.tile_strides[dimension]
    line = bits * order.tile
    if line >= STRIP:
        levels = [(max(1, bits // STRIP), STRIP), (tiling.bitlines // line, line)]
    else:
        levels = [(tiling.bitlines // STRIP, STRIP)]
    tiles = stride * order.tiles
    own = min(tiling.tiles, config.arrays) if order.banks == 1 else tiles
    levels += [(stride, tiling.bitlines), (own // tiles, tiles * tiling.bitlines)]
    merged = [(1, STRIP)]
    for count, apart in levels:
        last, before = merged[-1]
        if last == 1 or last * before == apart:
            merged[-1] = (last * count, before if last > 1 else apart)
        elif count > 1:
            merged.append((count, apart))
    inner = max(merged)
    merged.remove(inner)
    for places in product(*(range(count) for count, _ in merged)):
        first = sum(place * apart for place, (_, apart) in zip(places, merged, strict=True))
        yield _Loop(first, *inner)


def _beginning(kind: Finish) -> list[dict[str, Any]]:
    """The number of the bank, times ``STRIP``, and what changes nothing, in registers."""
    usual = {"is_whole": 1, "when": _FIRST}
    number = {**usual, "d": _BANK, "a": _BANK}
    total = {**usual, "d": _TOTAL, "a": _TOTAL, "b_source": Second.IMMEDIATE.value}
    operations = [
        {**number, "operation": ExecuteOpcode.XOR.value, "b": _BANK},
        {**number, "operation": ExecuteOpcode.OR.value, "b_source": Second.X.value},
        {
            **number,
            "operation": ExecuteOpcode.AND.value,
            "b_source": Second.IMMEDIATE.value,
            "immediate": (1 << 32) - STRIP,
        },
        {**total, "operation": ExecuteOpcode.AND.value},
    ]
    value = bits_of(identity(kind.function, kind.type), kind.type) % (1 << 32)
    if value:
        operations.append({**total, "operation": ExecuteOpcode.OR.value, "immediate": value})
    return operations


def _summing(kind: Finish) -> list[dict[str, Any]]:
    turn = {"operation": ExecuteOpcode.OR.value, "d_is_turned": 1, "reads": 1, "a": _BANK}
    return [turn, {"operation": _opcode(kind), "a_is_turned": 1, "b": _TOTAL, "d": _TOTAL}]


def _opcode(kind: Finish) -> int:
    found = operation_of(kind.function, kind.type)
    assert found is not None
    return found.value


def _distances(kept: int, bits: int) -> list[int]:
    """Distances between elements of a strip that are combined."""
    return [bits * kept >> level for level in range(1, kept.bit_length())]


def _rotations(kind: Finish, kept: int, bits: int) -> list[dict[str, Any]]:
    registers = (_TOTAL, _ROTATED)
    return [
        {
            "operation": _opcode(kind),
            "a": registers[at % 2],
            "b": registers[at % 2],
            "d": registers[1 - at % 2],
            "offset": distance,
            "when": _LAST,
        }
        for at, distance in enumerate(_distances(kept, bits))
    ]


def _stores(rotations: int) -> list[dict[str, Any]]:
    """Operations that store the register's value behind so many rotations."""
    total = (_TOTAL, _ROTATED)[rotations % 2]
    turn = {"operation": ExecuteOpcode.OR.value, "d_is_turned": 1, "a": total, "when": _LAST}
    store = {"operation": ExecuteOpcode.STORE.value, "a_is_turned": 1, "a": _BANK, "when": _LAST}
    return [turn, store]


def _stream(loop: _Loop, last: int, apart: int, config: SramConfig) -> Command:
    """A stream of strips from the ``last`` y down to the first; in each bank its own."""
    return command(
        Opcode.STREAM,
        is_indirect=1,
        is_transposed=1,
        base=loop.first + last,
        strides=(0, -apart % (1 << WORD_BITS), loop.apart),
        length=config.banks * STRIP,
        scale=config.arrays * config.bitlines // STRIP,
    )


def _cycles(program: _Program, lines: int, steps: int, reading: int) -> int:
    """Estimates the cycles of a loop; ``reading``: cycles in which a strip is read."""
    once = program.rare * STRIP + _DRAIN
    every = STRIP * (program.last - program.rare) + reading
    return _BEGIN + lines * (once + steps * every)

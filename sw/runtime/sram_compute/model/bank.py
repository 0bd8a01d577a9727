"""A bank that runs commands: what its arrays hold then, and when each command ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gnarl.hw.sram_compute.microcode.program import Microinstruction
from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray
from gnarl.sw.runtime.sram_compute.model.lockstep import Spent, run_banks


@dataclass(frozen=True)
class Pattern:
    """Places ``start`` + the sum of stride x 0 … count - 1 over ``levels`` of (stride, count)."""

    start: int
    levels: tuple[tuple[int, int], ...] = ()

    def places(self, size: int) -> np.ndarray:
        """The places below ``size``: bool [size], not to be changed."""
        return _places(self, size)

    @property
    def cycles(self) -> int:
        """The cycles in which it is expanded."""
        return 1 + sum((count - 1).bit_length() for _, count in self.levels)


@lru_cache(maxsize=1024)
def _places(pattern: Pattern, size: int) -> np.ndarray:
    places = np.array([pattern.start])
    for stride, count in pattern.levels:
        places = np.unique(places[:, None] + stride * np.arange(count))
        places = places[places < size]
    is_place = np.zeros(size, bool)
    is_place[places] = True
    return is_place


@dataclass(frozen=True)
class Compute:
    """A microprogram, at width ``n``."""

    program: Sequence[Microinstruction]
    n: int
    bases: Mapping[Base, int]


@dataclass(frozen=True)
class Move:
    """``n`` rows from ``d`` on become those from ``a`` on, ``distance`` bitlines up and around, or
    bits of ``value``; on ``bitlines`` of ``tiles``."""

    a: int
    d: int
    n: int
    distance: int
    bitlines: Pattern
    tiles: Pattern
    value: int | None = None


Command = Compute | Move


class Bank:
    """``arrays`` arrays side by side, the first of them ``first_tile`` among ``tiles``.

    rows
        the arrays, if they are part of others.
    times
        when commands ran.
    bits_moved
        bits that moves took from one bitline to another.
    """

    def __init__(
        self,
        wordlines: int,
        bitlines: int,
        arrays: int,
        first_tile: int = 0,
        *,
        tiles: int | None = None,
        skips: bool = True,
        rows: ComputeArray | None = None,
    ) -> None:
        self.arrays = rows or ComputeArray(wordlines, arrays * bitlines)
        self._count = arrays
        self._bitlines = bitlines
        self._first_tile = first_tile
        self._tiles = arrays if tiles is None else tiles
        self._skips = skips
        self.times = Times()
        self.bits_moved = 0

    def compute_elsewhere(self, offered: int, spent: Spent) -> int:
        """Does what ``execute`` does, for a program which is run for all banks together."""
        accepted = max(offered, self.times.taken)
        self.times.compute(accepted + 1, spent.cycles, spent.last)
        return accepted

    def begin(self) -> None:
        """Cycles and bits count from here on."""
        self.times = Times()
        self.bits_moved = 0

    def run(self, commands: Iterable[Command]) -> int:
        """Cycles from when the first command is offered until nothing is under way; each is offered
        when the one before it has been taken up."""
        self.begin()
        for command in commands:
            self.execute(command, 0)
        return self.times.end

    def execute(self, command: Command, offered: int) -> int:
        """Does a command that is offered from a cycle on; the cycle in which it is accepted."""
        times = self.times
        accepted = max(offered, times.taken)
        if isinstance(command, Compute):
            return self.compute_elsewhere(offered, self._compute(command))
        enabled = command.tiles.places(self._tiles)
        enabled = enabled[self._first_tile : self._first_tile + self._count]
        prepared = accepted + max(command.bitlines.cycles, command.tiles.cycles)
        if enabled.any():
            self._move(command, enabled)
            times.move(prepared, command.n)
        else:
            times.drop(prepared)
        return accepted

    def _compute(self, command: Compute) -> Spent:
        (spent,) = run_banks(
            self.arrays, 1, command.program, command.bases, command.n, skips=self._skips
        )
        return spent

    def _move(self, move: Move, enabled: np.ndarray) -> None:
        shape = (len(self.arrays.planes), self._count, self._bitlines // 64)
        planes = self.arrays.planes.reshape(shape)
        places = move.bitlines.places(self._bitlines)
        if move.value is None:
            new = rolled(planes[move.a : move.a + move.n], move.distance)
            self.bits_moved += move.n * int(enabled.sum()) * int(places.sum())
        else:
            ones = np.array([-(move.value >> row & 1) for row in range(move.n)], np.int64)
            new = ones.astype(np.uint64)[:, None, None]
        mask = enabled[:, None] * packed(places)
        old = planes[move.d : move.d + move.n]
        old[:] = old & ~mask | new & mask


def packed(bits: np.ndarray) -> np.ndarray:
    """Bool [bits], a multiple of 64, as uint64 [words], the lowest bit first."""
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def rolled(words: np.ndarray, distance: int) -> np.ndarray:
    """uint64 [..., words of a tile] with each bit ``distance`` further up in its tile, around the
    end."""
    whole, rest = divmod(distance, 64)
    moved = np.roll(words, whole, axis=-1) if whole else words
    if not rest:
        return moved
    below = np.roll(moved, 1, axis=-1)
    return moved << np.uint64(rest) | below >> np.uint64(64 - rest)


class Times:
    """When commands run, as ``TensorController`` has it, by numbers of cycles.

    taken
        in which the last command was taken up: no other is accepted before.
    end
        the last in which anything is under way.
    computes, moves
        the last of a program, and of a move.
    programs, shifts
        first and last cycle of each.
    """

    def __init__(self) -> None:
        self.taken = 0
        self.end = 0
        self.computes = -1
        self.moves = 0
        self.programs: list[tuple[int, int]] = []
        self.shifts: list[tuple[int, int]] = []
        self._can_compute = 0  # from when on the sequencer takes a program

    def compute(self, prepared: int, cycles: int, last: int) -> None:
        """A program, of whose cycles ``last`` are those of its last microinstruction."""
        self.taken = max(prepared, self._can_compute, self.moves)
        self.computes = max(self.taken + 1, self.computes) + cycles
        self._can_compute = self.computes - last
        self.end = max(self.end, self.computes)
        self.programs.append((self.taken + 1, self.computes))

    def move(self, prepared: int, rows: int) -> None:
        self.taken = max(prepared, self.computes + 1, self.moves)
        self.moves = self.end = self.taken + 1 + rows
        self.shifts.append((self.taken + 1, self.moves))

    def drop(self, prepared: int) -> None:
        self.taken = prepared
        self.end = max(self.end, self.taken)

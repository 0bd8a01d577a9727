"""Places the tensors of a program in the memory of a machine, where what one launch writes the next
one reads.

Source: FuseFlow, section 7: intermediates of kernels that one machine runs stay in its memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.sam.block_types import BITVECTOR, BITVECTOR_BITS, COMPRESSED, Array
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block, Graph
from gnarl.hw.sam.memory.line_placement import all_lines, lines_of
from gnarl.hw.sam.memory.placement import MemoryRows, in_turn
from gnarl.hw.sam.memory_map import array_windows
from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.tensor.storage import TensorFormat

Key = tuple[str, int, str]
"""An array of a tensor: its name, the level, -1 for values, and the array's name."""

Life = tuple[int, int]
"""The launches that need an array: the first, and one past the last."""

NO_PLACES = np.zeros((0, 2), np.uint32)
"""Of arrays that share no memory."""


@dataclass(frozen=True)
class PlacedLaunch:
    """A launch that is to be placed: its graph, named as the machine's blocks are, what that
    computes, and the shapes of tensors."""

    graph: Graph
    kernel: Kernel
    shapes: Mapping[str, tuple[int, ...]]


def places(config: SamConfig, launches: Sequence[PlacedLaunch]) -> list[np.ndarray]:
    """For each launch on one machine whose arrays share a memory, base and rows of each of its
    arrays: uint32 [arrays, 2], in the order of ``arrays_of``; 0 for those not in use. In a memory
    of lines a base is a line.

    An array of a tensor has one place, in all launches and at all blocks. If the memory is too
    small for all of the program's, places are free again after the last launch that needs them; if
    it is too small for that, each array of a launch has a place of its own, and tensors move.
    """
    windows = array_windows(config)
    room = _Room(config)
    rows, uses = _needs(config, launches)
    written = {
        _key(block, array)
        for launch in launches
        for block, array in _arrays(launch.graph)
        if array.writes
    }
    always = dict.fromkeys(uses, (0, len(launches)))
    for lives in (always, uses):
        found = _packed(rows, lives, written, room)
        if found is not None:
            break
    else:
        return [own_places(config)] * len(launches)
    numbers = {window.name: number for number, window in enumerate(windows)}
    placed = []
    for launch in launches:
        each = np.zeros((len(windows), 2), np.uint32)
        for block, array in _arrays(launch.graph):
            key = _key(block, array)
            each[numbers[f"{block.name}_{array.name}"]] = found[key], rows[key]
        placed.append(each)
    return placed


def require_places(config: SamConfig, places: np.ndarray) -> None:
    """Raises ``ProgramError`` for places, int [arrays, 2], that are not in a machine's memory."""
    windows = array_windows(config)
    if places.shape != (len(windows), 2):
        raise ProgramError(f"places are {list(places.shape)}: must be {[len(windows), 2]}")
    room = _Room(config)
    for window, (base, rows) in zip(windows, places.tolist(), strict=True):
        first, end = room.part(window.words)
        units = room.units(window.words, rows)
        if rows and not first <= base <= end - units:
            raise ProgramError(
                f"places: array {window.name}: {room.unit}s {base} to {base + units - 1}: must be "
                f"within {first} and {end - 1}"
            )


def own_places(config: SamConfig) -> np.ndarray:
    """Places of arrays that each have their own, with room for their windows, one behind the other:
    uint32 [arrays, 2]."""
    windows, room = array_windows(config), _Room(config)
    found, base = np.zeros((len(windows), 2), np.uint32), 0
    for number in in_turn(windows):
        found[number] = base, windows[number].rows
        base += room.units(windows[number].words, windows[number].rows)
    return found


class _Room:
    """Units of a memory that arrays share: rows, those of two words first, or lines.

    ``unit``: what it is called.
    """

    def __init__(self, config: SamConfig) -> None:
        windows = array_windows(config)
        self._windows = {window.words: window for window in windows}
        self._line_words = config.line_words
        self._lines = all_lines(windows, self._line_words) if config.memory == "lines" else None
        self._rows = MemoryRows.of(windows)
        self.unit = "row" if self._lines is None else "line"

    def part(self, words: int) -> tuple[int, int]:
        """The first unit for arrays with so many words a row, and the one behind the last."""
        if self._lines is not None:
            return 0, self._lines
        return self._rows.first(words), self._rows.pairs if words == 2 else self._rows.all

    def units(self, words: int, rows: int) -> int:
        """Units that so many rows take."""
        if self._lines is None:
            return rows
        return lines_of(self._windows[words], rows, self._line_words)


def _arrays(graph: Graph) -> list[tuple[Block, Array]]:
    return [(block, array) for block in graph.blocks for array in block.arrays]


def _key(block: Block, array: Array) -> Key:
    return block["tensor"], block.parameters.get("level", -1), array.name


def _needs(
    config: SamConfig, launches: Sequence[PlacedLaunch]
) -> tuple[dict[Key, int], dict[Key, Life]]:
    """The most rows of each array, and the launches that need it, from the first to behind the
    last."""
    rows: dict[Key, int] = {}
    uses: dict[Key, Life] = {}
    for number, launch in enumerate(launches):
        bounds = {
            name: _bounds(format, launch.shapes[name])
            for name, format in launch.kernel.formats.items()
            if name in launch.shapes
        }
        for block, array in _arrays(launch.graph):
            key = _key(block, array)
            # A constant has one value.
            bound = bounds[key[0]][key[1:]] if key[0] in bounds else 1
            room = config.rows_of(block.name, array)
            rows[key] = max(rows.get(key, 1), min(bound, room))
            uses[key] = uses.get(key, (number, 0))[0], number + 1
    return rows, uses


def _bounds(format: TensorFormat, shape: tuple[int, ...]) -> dict[tuple[int, str], int]:
    """The most rows of a tensor's arrays, by level and array.

    A writer may record a stop, as a fiber, for each fiber of the levels around that is empty.
    """
    found: dict[tuple[int, str], int] = {}
    fibers, positions = 1, 1
    for level, (kind, mode) in enumerate(zip(format.levels, format.modes, strict=True)):
        # A tensor without elements is one of a single one for the machine.
        size = max(1, shape[mode])
        if kind == COMPRESSED:
            found[level, "seg"] = fibers
            found[level, "crd"] = positions * size
        elif kind == BITVECTOR:
            found[level, "bv"] = fibers * -(-size // BITVECTOR_BITS)
        positions *= size
        fibers += positions
    found[-1, "vals"] = positions
    return found


def _packed(
    rows: Mapping[Key, int],
    lives: Mapping[Key, Life],
    written: Collection[Key],
    room: _Room,
) -> dict[Key, int] | None:
    """The first unit of each array, so that none lies over another that lives at the same time;
    ``None`` if the memory is too small.

    What is only read goes to the lowest place that is free, what is written to the highest, so that
    a host that forgets what lies near to what a launch writes forgets little.
    """
    found: dict[Key, int] = {}
    parts: dict[tuple[int, int], list[tuple[int, int, Life]]] = {}
    for key in sorted(rows, key=lambda key: -_words(key)):
        start, end = part = room.part(_words(key))
        taken = parts.setdefault(part, [])
        count = room.units(_words(key), rows[key])
        base = end - count if key in written else start
        for first, last, life in sorted(taken, reverse=key in written):
            if _overlap(life, lives[key]) and base < last and first < base + count:
                base = first - count if key in written else last
        if not start <= base <= end - count:
            return None
        taken.append((base, base + count, lives[key]))
        found[key] = base
    return found


def _words(key: Key) -> int:
    return 2 if key[2] in ("seg", "bv") else 1


def _overlap(one: Life, other: Life) -> bool:
    return one[0] < other[1] and other[0] < one[1]

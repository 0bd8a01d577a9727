"""Arrays from memory to tiles, and back: what moves, and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS, WORD_BYTES
from gnarl.hw.sram_compute.wide_lines import in_wide_lines, is_wide
from gnarl.sw.runtime.sram_compute.model.bank import Bank
from gnarl.sw.runtime.sram_compute.model.memory_times import Channel
from gnarl.sw.runtime.sram_compute.model.tiles import put_rows, rows_of


@dataclass(frozen=True)
class LineMapping:
    """The mapping of an array's lines to tiles. Wide lines are as one.

    lines
        int64 [n]: its lines, in the order in which they are transferred: those at the same place
        of each chunk, then those at the next.
    tiles, bitlines
        int64 [n, elements of a line].
    numbers
        int64 [n, dimensions]: of lines in dimension 0, else of their elements.
    """

    lines: np.ndarray
    tiles: np.ndarray
    bitlines: np.ndarray
    numbers: np.ndarray


@dataclass(frozen=True)
class Layout:
    """An entry of the layout override table that makes sense, with its lines as they are moved:
    ``channels`` of memory are one.

    entry
        the entry, with lines so counted.
    """

    entry: Mapping[str, Any]
    channels: int

    @property
    def is_wide(self) -> bool:
        return self.channels > 1

    @property
    def line_words(self) -> int:
        return self.channels * LINE_WORDS

    @property
    def line_elements(self) -> int:
        return self.channels * LINE_BYTES >> int(self.entry["element"])


def layout(entry: Mapping[str, Any], channels: int) -> Layout:
    """How an entry's lines are moved by memory of so many channels."""
    if is_wide(channels, entry):
        return Layout(in_wide_lines(channels, entry), channels)
    return Layout(entry, 1)


def line_mapping(given: Layout, most: int | None = None) -> LineMapping:
    """Places of the lines of an entry, or of the first ``most``, including lines that the last
    chunk does not have."""
    entry, elements = given.entry, given.line_elements
    extents, chunk, chunked = list(entry["sizes"]), entry["chunk"], entry["chunked"]
    chunks = 1
    if 0 < chunk < extents[chunked]:
        chunks = -(-extents[chunked] // chunk)
        extents[chunked] = chunk
    index, number = np.divmod(np.arange(prod(extents) * chunks if most is None else most), chunks)
    index, x = np.divmod(index, extents[0])
    z, y = np.divmod(index, extents[1])
    is_one = (x, y, z)[chunked] + chunk * number < entry["sizes"][chunked]
    x, y, z, number = (each[is_one] for each in (x, y, z, number))
    steps = (1, *entry["line_strides"], entry["chunk_lines"])
    lines = entry["base"] + sum(
        each * step for each, step in zip((x, y, z, number), steps, strict=True)
    )
    first = x[:, None] * elements + np.arange(elements)
    coordinates = [first, y[:, None], z[:, None]]
    tiles = entry["first_tile"] + entry["chunk_tiles"] * number[:, None] + 0 * first
    bitlines, bit = 0 * first, 0
    tile_steps = (1, *entry["tile_strides"])
    for coordinate, extent, step in zip(coordinates, entry["tile"], tile_steps, strict=True):
        tiles = tiles + (coordinate >> extent) * step
        bitlines = bitlines + ((coordinate & (1 << extent) - 1) << bit)
        bit += extent
    in_array = np.stack([x, y, z], axis=1)
    in_array[:, chunked] += chunk * number
    return LineMapping(lines, tiles, bitlines, in_array)


def inner_words(given: Layout, where: LineMapping, fields: Mapping[str, Any]) -> np.ndarray:
    """The words between margins, which a ``STORE`` writes: bool [lines, words of a line]."""
    numbers = where.numbers.copy()
    numbers[:, 0] *= given.line_words
    ends = np.array(given.entry["sizes"]) * (given.line_words, 1, 1) - fields["after"]
    words = numbers[:, :1] + np.arange(given.line_words)
    others = (numbers >= fields["before"]) & (numbers < ends)
    return (words >= fields["before"][0]) & (words < ends[0]) & others[:, 1:].all(1, keepdims=True)


def load(
    banks: Sequence[Bank],
    bitlines: int,
    memory: np.ndarray,
    where: LineMapping,
    row: int,
    n: int,
    is_loaded: np.ndarray,
) -> None:
    """Loads lines into the rows of banks. ``memory``: uint32 [lines, words of a line];
    ``is_loaded``: bool [lines of ``where``]."""
    bits = rows_of(banks, row, n, bitlines)
    values = _values(memory[where.lines], where)[is_loaded]
    tiles, bitline_numbers = where.tiles[is_loaded], where.bitlines[is_loaded]
    for place in range(n):
        bits[place, tiles, bitline_numbers] = values >> place & 1
    put_rows(banks, row, bits)


def store(
    banks: Sequence[Bank],
    bitlines: int,
    memory: np.ndarray,
    where: LineMapping,
    row: int,
    n: int,
    is_signed: bool,
    words: np.ndarray,
) -> None:
    """Stores rows of banks to lines. ``words``: those that are written, as of ``inner_words``."""
    bits = rows_of(banks, row, n, bitlines)
    values = np.zeros(where.tiles.shape, np.uint32)
    for place in range(n):
        values |= bits[place, where.tiles, where.bitlines].astype(np.uint32) << place
    if is_signed and n < 32:
        top = np.uint32(1 << n - 1)
        values = (values ^ top) - top
    size = WORD_BYTES * memory.shape[1] // where.tiles.shape[1]
    lines, columns = words.nonzero()
    memory[where.lines[lines], columns] = values.astype(f"<u{size}").view("<u4")[words]


def pieces(given: Layout) -> int:
    """Words of tiles that a row of a line is in; each is whole, or two halves, where it is wide."""
    size = given.line_elements.bit_length() - 1
    return int(1 << size - (5 if given.is_wide else min(size, given.entry["tile"][0], 5)))


class Transposers:
    """Tracks when transposers of banks are idle: a line has that of its bank, or all if it has
    several.

    Parameters: ``where`` lines of an array are; ``arrays`` of a bank, ``banks``.
    """

    def __init__(self, where: LineMapping, arrays: int, banks: int) -> None:
        self._owners = (where.tiles[:, [0, -1]] // arrays).tolist()
        self._idle = [0] * banks

    def taken(self, line: int, ready: int) -> int:
        """The cycle from ``ready`` on in which they take a line."""
        return max(ready, *(self._idle[bank] for bank in self._banks(line)))

    def release(self, line: int, cycle: int) -> None:
        """Releases a line's transposers, which are idle from a cycle on."""
        for bank in self._banks(line):
            self._idle[bank] = cycle

    def _banks(self, line: int) -> Iterable[int]:
        first, last = self._owners[line]
        return (first,) if first == last else range(len(self._idle))


def load_times(
    channel: Channel,
    start: int,
    lines: Transposers,
    is_loaded: Sequence[bool],
    cycles: int,
    *,
    wide: bool,
) -> tuple[int, int]:
    """The cycle in which the last line is asked for, and that in which the last of ``cycles`` that
    a line takes is over, of the last line; those that are not loaded are passed over in a cycle."""
    taken: list[int] = []
    asked = placed = end = start
    for number, is_asked in enumerate(is_loaded):
        if is_asked:
            offered = asked + 1
            if len(taken) >= channel.in_flight:
                offered = max(offered, taken[-channel.in_flight] + 1)
            asked = channel.accept(offered, wide=wide)
            placed = lines.taken(number, max(asked + channel.latency, placed + 1))
            taken.append(placed)
            lines.release(number, placed + cycles + 1)
            end = max(end, placed + cycles)
        else:
            asked, placed = asked + 1, placed + 1
    return asked, max(placed, end)


def store_times(
    channel: Channel,
    start: int,
    lines: Transposers,
    is_stored: Sequence[bool],
    cycles: int,
    *,
    wide: bool,
) -> tuple[int, int]:
    """The cycle in which the last line is begun, and that in which memory takes it, each offered
    ``cycles`` behind its beginning, at least; those that are not stored are passed over in a
    cycle."""
    begun, end = start, start
    for number, is_given in enumerate(is_stored):
        begun, end = begun + 1, end + 1
        if is_given:
            begun = lines.taken(number, begun)
            end = channel.accept(max(begun + cycles, end), wide=wide)
            lines.release(number, end + 1)
    return begun, max(begun, end)


def _values(lines: np.ndarray, where: LineMapping) -> np.ndarray:
    """Elements of lines, as whole numbers without sign."""
    size = WORD_BYTES * lines.shape[1] // where.tiles.shape[1]
    return np.ascontiguousarray(lines, "<u4").view(f"<u{size}").reshape(where.tiles.shape)

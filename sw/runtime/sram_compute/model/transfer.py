"""Arrays from memory to tiles, and back: what moves, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hw.lib.lines.line_size import LINE_BYTES
from hw.sram_compute.config import SramConfig
from hw.sram_compute.memory_map import ErrorCause
from sw.runtime.sram_compute.model.bank import Bank
from sw.runtime.sram_compute.model.memory_times import Channel
from sw.runtime.sram_compute.model.tiles import put_rows, rows_of


@dataclass(frozen=True)
class Places:
    """Where an array is.

    lines
        int64 [n]: its lines, in the order in which they are transferred.
    tiles, bitlines
        int64 [n, elements of a line].
    """

    lines: np.ndarray
    tiles: np.ndarray
    bitlines: np.ndarray


def places(entry: Mapping[str, Any]) -> Places:
    """Of an entry of the layout override table that makes sense."""
    elements = LINE_BYTES >> entry["element"]
    x, y, z = np.meshgrid(*map(np.arange, entry["sizes"]), indexing="ij")
    order = [each.transpose(2, 1, 0).reshape(-1) for each in (x, y, z)]
    lines = (
        entry["base"]
        + order[0]
        + sum(each * stride for each, stride in zip(order[1:], entry["line_strides"], strict=True))
    )
    first = order[0][:, None] * elements + np.arange(elements)
    coordinates = [first, order[1][:, None], order[2][:, None]]
    tiles, bitlines, bit = entry["first_tile"] + 0 * first, 0 * first, 0
    steps = (1, *entry["tile_strides"])
    for coordinate, extent, step in zip(coordinates, entry["tile"], steps, strict=True):
        tiles = tiles + (coordinate >> extent) * step
        bitlines = bitlines + ((coordinate & (1 << extent) - 1) << bit)
        bit += extent
    return Places(lines, tiles, bitlines)


def fault(config: SramConfig, where: Places) -> ErrorCause | None:
    """Of the first line that is none of memory, or has tiles beyond the last one."""
    outside = where.lines >= config.memory_lines
    beyond = where.tiles.max(axis=1) >= config.tiles
    bad = np.flatnonzero(outside | beyond)
    if not len(bad):
        return None
    return ErrorCause.ADDRESS if outside[bad[0]] else ErrorCause.LAYOUT


def load(
    banks: Sequence[Bank], bitlines: int, memory: np.ndarray, where: Places, row: int, n: int
) -> None:
    """``memory``: uint32 [lines, words of a line]."""
    bits = rows_of(banks, row, n, bitlines)
    values = _values(memory[where.lines], where)
    for place in range(n):
        bits[place, where.tiles, where.bitlines] = values >> place & 1
    put_rows(banks, row, bits)


def store(
    banks: Sequence[Bank],
    bitlines: int,
    memory: np.ndarray,
    where: Places,
    row: int,
    n: int,
    is_signed: bool,
) -> None:
    bits = rows_of(banks, row, n, bitlines)
    values = np.zeros(where.tiles.shape, np.uint32)
    for place in range(n):
        values |= bits[place, where.tiles, where.bitlines].astype(np.uint32) << place
    if is_signed and n < 32:
        top = np.uint32(1 << n - 1)
        values = (values ^ top) - top
    size = LINE_BYTES // where.tiles.shape[1]
    memory[where.lines] = values.astype(f"<u{size}").view("<u4")


def pieces(entry: Mapping[str, Any]) -> int:
    """Words of tiles that a row of a line is in."""
    size = 6 - entry["element"]
    return int(1 << size - min(size, entry["tile"][0], 5))


def load_times(channel: Channel, start: int, lines: int, cycles: int) -> int:
    """The cycle in which the last of ``cycles`` that a line takes is over, of the last line."""
    taken: list[int] = []
    asked, end = start, start
    for number in range(lines):
        offered = asked + 1
        if number >= channel.in_flight:
            offered = max(offered, taken[number - channel.in_flight] + 1)
        asked = channel.accept(offered)
        taken.append(max(asked + channel.latency, end + 1))
        end = taken[-1] + cycles
    return end


def store_times(channel: Channel, start: int, lines: int, cycles: int) -> int:
    """The cycle in which memory takes the last line, each offered ``cycles`` behind the one before
    it, at least."""
    end = start
    for _ in range(lines):
        end = channel.accept(end + cycles)
    return end


def _values(lines: np.ndarray, where: Places) -> np.ndarray:
    """Elements of lines, as whole numbers without sign."""
    size = LINE_BYTES // where.tiles.shape[1]
    return np.ascontiguousarray(lines, "<u4").view(f"<u{size}").reshape(where.tiles.shape)

"""Layouts whose arrays leave memory or tiles, without going through their lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from gnarl.hw.lib.lines.line_size import LINE_BYTES
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import DIMENSIONS
from gnarl.hw.sram_compute.memory_map import ErrorCause


class LayoutFault(NamedTuple):
    """A fault of a layout. ``place``: of the line, in the order of ``transfer.line_mapping``,
    counted with those that the last chunk does not have."""

    cause: ErrorCause
    place: int


def first_fault(
    config: SramConfig, entry: Mapping[str, Any], channels: int = 1
) -> LayoutFault | None:
    """The fault of the first line, in the order of transfers, that is outside of memory, or has
    tiles beyond the last one. ``entry``: one of the layout override table that makes sense, with
    ``channels`` lines as one. O(log of its sizes).

    Lines and tiles never decrease with a coordinate or a chunk. So the first line is found one
    coordinate after the other, the outermost first: it is the least one up to which some line is
    outside.
    """
    walk = _Walk(config, entry, channels)
    if not walk.is_bad_within():
        return None
    for dimension in reversed(range(DIMENSIONS)):
        walk.fixed[dimension] = _least(walk.ends[dimension], walk.with_most(dimension))
    chunk = _least(walk.last_chunk() + 1, walk.is_bad_in_chunk)
    is_outside = walk.is_outside(walk.fixed, chunk)
    x, y, z = (walk.fixed[dimension] for dimension in range(DIMENSIONS))
    line = (z * walk.ends[1] + y) * walk.ends[0] + x
    return LayoutFault(
        ErrorCause.ADDRESS if is_outside else ErrorCause.LAYOUT, line * walk.chunks + chunk
    )


def _least(end: int, holds: Callable[[int], bool]) -> int:
    """The least number below ``end`` for which ``holds``, which does for all above it."""
    low, high = 0, end - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


class _Walk:
    """A walk over the lines of a layout.

    ends, chunks
        how many coordinates there are in each dimension of a chunk; how many chunks.
    fixed
        coordinates, by dimension, of which no others are looked at.
    """

    def __init__(self, config: SramConfig, entry: Mapping[str, Any], channels: int) -> None:
        self._config, self._entry, self._channels = config, entry, channels
        self.ends = list(entry["sizes"])
        self._chunked = entry["chunked"]
        self._size = self.ends[self._chunked]
        self._chunk = entry["chunk"] if 0 < entry["chunk"] < self._size else self._size
        self.ends[self._chunked] = self._chunk
        self.chunks = -(-self._size // self._chunk)
        self.fixed: dict[int, int] = {}

    def is_outside(self, place: Mapping[int, int], chunk: int) -> bool:
        entry = self._entry
        steps = (1, *entry["line_strides"])
        line = entry["base"] + entry["chunk_lines"] * chunk
        line += sum(place[each] * steps[each] for each in range(DIMENSIONS))
        return bool(line >= self._config.memory_lines // self._channels)

    def _last_tile(self, place: Mapping[int, int], chunk: int) -> int:
        entry = self._entry
        elements = self._channels * LINE_BYTES >> entry["element"]
        coordinates = (place[0] * elements + elements - 1, place[1], place[2])
        steps = (1, *entry["tile_strides"])
        last = entry["first_tile"] + entry["chunk_tiles"] * chunk
        return int(
            last
            + sum(
                (coordinate >> extent) * step
                for coordinate, extent, step in zip(coordinates, entry["tile"], steps, strict=True)
            )
        )

    def _is_bad(self, place: Mapping[int, int], chunk: int) -> bool:
        return self.is_outside(place, chunk) or self._last_tile(place, chunk) >= self._config.tiles

    def last_chunk(self, coordinate: int | None = None) -> int:
        """The last one that has a coordinate of the dimension in chunks."""
        at = self.fixed[self._chunked] if coordinate is None else coordinate
        return (self._size - 1 - at) // self._chunk

    def is_bad_in_chunk(self, chunk: int) -> bool:
        return self._is_bad(self.fixed, chunk)

    def with_most(self, dimension: int) -> Callable[[int], bool]:
        """Whether some line is bad with a coordinate of a dimension up to one."""
        return lambda most: self.is_bad_within({dimension: most})

    def is_bad_within(self, most: Mapping[int, int] | None = None) -> bool:
        """Whether some line is, of those with the fixed coordinates, and others up to ``most``."""
        place = {each: end - 1 for each, end in enumerate(self.ends)} | dict(most or {})
        place |= self.fixed
        return any(
            self._is_bad({**place, self._chunked: coordinate}, self.last_chunk(coordinate))
            for coordinate in self._farthest(place[self._chunked])
        )

    def _farthest(self, most: int) -> Iterator[int]:
        """Coordinates up to one, in chunks: the last, and the last that the last chunk has."""
        yield most
        if self._chunked not in self.fixed:
            yield min(most, (self._size - 1) % self._chunk)

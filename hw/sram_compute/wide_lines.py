"""Lines side by side that main memory gives to transfers, and takes from them, at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PAIR_BITS = 4
"""log2 of the bitlines of a tile that are half of a word, whose other half is the next one's."""


def are_wide(
    channels: Any,
    base: Any,
    size: Any,
    line_strides: Any,
    chunked: Any,
    chunk: Any,
    chunk_lines: Any,
    extent: Any,
    tiles: Any,
) -> Any:
    """Whether an array's lines are transferred ``channels`` at once, a power of two: rows and
    chunks are whole numbers of so many lines, the first of which memory has in its first channel;
    and these fill words of tiles, whose rows have 2^``extent`` bitlines, or halves of a word of a
    tile with an even number and of the next one's. ``size``: lines of a row; ``line_strides``,
    ``tiles``: the bits that any of its strides in lines, and any of its numbers of tiles have.
    Numbers, or values in hardware."""
    last = channels - 1
    lines = base | size | line_strides | chunk_lines
    pairs = (extent > PAIR_BITS) | ((extent == PAIR_BITS) & ((tiles & 1) == 0))
    return ((lines & last) == 0) & ((chunked != 0) | ((chunk & last) == 0)) & pairs


def is_wide(channels: int, entry: Mapping[str, Any]) -> Any:
    """``are_wide`` of an entry of the layout override table; ``False`` with one channel."""
    if channels == 1:
        return False
    strides, tiles = entry["line_strides"], entry["tile_strides"]
    return are_wide(
        channels,
        entry["base"],
        entry["sizes"][0],
        strides[0] | strides[1],
        entry["chunked"],
        entry["chunk"],
        entry["chunk_lines"],
        entry["tile"][0],
        entry["first_tile"] | tiles[0] | tiles[1] | entry["chunk_tiles"],
    )


def in_wide_lines(channels: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry that ``is_wide``, with its lines counted by ``channels``."""
    sizes, along = entry["sizes"], entry["chunked"] == 0
    return dict(entry) | {
        "base": entry["base"] // channels,
        "sizes": (sizes[0] // channels, *sizes[1:]),
        "line_strides": tuple(each // channels for each in entry["line_strides"]),
        "chunk": entry["chunk"] // channels if along else entry["chunk"],
        "chunk_lines": entry["chunk_lines"] // channels,
    }

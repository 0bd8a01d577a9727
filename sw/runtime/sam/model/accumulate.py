"""Sparse accumulators: sums over an index that is not the innermost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gnarl.hw.sam.graph import Block, Graph
from gnarl.hw.sam.token import DONE, EMPTY
from gnarl.sw.runtime.sam.model.tokens import STOP, Done, Inputs, Parents, Site, Stream, totals_of


def spaccumulator(site: Site, inputs: Inputs) -> Done:
    """Sums by coordinate, one table for each fiber of the reduced index, in ascending order."""
    order = site.block["order"]
    streams = [inputs[f"crd{place}"] for place in range(order + 1)]
    values = inputs["val"]
    site.require_same(streams[0], values, ("crd0", "val"))
    for place in range(order):
        names = f"crd{place + 1}", f"crd{place}"
        site.require_stops(Parents(streams[place + 1]), streams[place], names)
    if streams[-1].lengths[-1]:
        site.fail(f"crd{order} has data after its last stop: must have a stop before done")
    stops = streams[-1].tokens[streams[-1].stops]

    # For each value: its table, and its coordinates from the outermost index in.
    fiber, columns = _coordinates(streams)
    sizes = [site.setting(f"size{place}") for place in range(order)]
    _check(site, columns, sizes)
    ordering = np.lexsort((*columns[::-1], fiber))
    keys = [column[ordering] for column in (fiber, *columns)]
    first = _begins(keys)
    lengths = np.diff(np.append(np.flatnonzero(first), len(ordering)))
    words = site.words_of("val", values)[values.is_data][ordering]
    totals = site.payloads(totals_of(words, lengths, "add", site.format))
    sums = _Table([key[first] for key in keys], totals)
    for depth in range(order):
        place = order - 1 - depth
        if site.block[f"full{place}"]:
            sums = _filled(site, sums, depth, sizes[place], len(stops))
    return Done(_streams(sums, stops, order))


def _coordinates(streams: list[Stream]) -> tuple[np.ndarray, list[np.ndarray]]:
    """For each innermost token: its table, and its coordinates from outside in."""
    inner = streams[0]
    own = inner.is_data
    columns = [inner.tokens[own]]
    fiber = inner.fiber[own]
    for stream in streams[1:]:
        head = Parents(stream).heads[fiber]
        columns.insert(0, stream.tokens[head])
        fiber = stream.fiber[head]
    return fiber, columns[1:]


class _Table(NamedTuple):
    """Sums in ascending order: ``columns`` are their table and coordinates, ``values`` tokens."""

    columns: list[np.ndarray]
    values: np.ndarray


def _begins(columns: list[np.ndarray]) -> np.ndarray:
    """The rows in which some column is not as in the row before: bool."""
    begins = np.zeros(len(columns[0]), bool)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def needed_sums(graph: Graph, settings: Mapping[tuple[str, str], int]) -> int:
    """Sums that no accumulator of a graph needs more of, whatever its keys are."""
    accumulators = (block for block in graph.blocks if block.type == "spaccumulator")
    return max((most_sums(block, settings) for block in accumulators), default=0)


def most_sums(accumulator: Block, settings: Mapping[tuple[str, str], int]) -> int:
    """Sums that an accumulator needs no more of, whatever its keys are."""
    order = accumulator["order"]
    outermost = settings.get((accumulator.name, f"size{order - 1}"), 0)
    return outermost << (_shift(settings.get((accumulator.name, "size0"), 0)) if order > 1 else 0)


def _shift(size: int) -> int:
    """By how much the outer coordinate of a key is shifted past an inner one below ``size``."""
    return max(size - 1, 0).bit_length()


def _check(site: Site, columns: list[np.ndarray], sizes: list[int]) -> None:
    for depth, (column, size) in enumerate(zip(columns, reversed(sizes), strict=True)):
        name = f"crd{len(sizes) - 1 - depth}"
        if len(column) and column.max() == EMPTY:
            site.fail(f"{name} has an empty token: must be a coordinate")
        if len(column) and column.max() >= size:
            site.fail(f"{name} has coordinate {column.max()}: must be below its size, {size}")
    if len(columns[0]):
        shift = _shift(sizes[0])
        at = columns[-1] if len(columns) == 1 else (columns[0] << shift) + columns[-1]
        words = site.limits.accumulator_words
        if int(at.max()) >= words:
            site.fail(f"needs {at.max() + 1:,} sums: must be at most {words:,}, accumulator_words")


def _filled(site: Site, sums: _Table, depth: int, size: int, tables: int) -> _Table:
    """The table with every coordinate below ``size`` in column ``depth`` + 1; absent ones have
    value 0.

    In an outer column, what is new has no coordinate further in: -1.
    """
    outer = sums.columns[: depth + 1]
    if depth == 0:
        fibers = [np.arange(tables)]
    else:
        changes = _begins(outer)
        fibers = [column[changes] for column in outer]
    site.require_room(len(fibers[0]) * size)
    grid = [np.repeat(column, size) for column in fibers]
    grid.append(np.tile(np.arange(size), len(fibers[0])))
    inner = sums.columns[depth + 2 :]
    columns = [
        np.concatenate([new, old]) for new, old in zip(grid, sums.columns[: depth + 2], strict=True)
    ]
    columns += [np.concatenate([np.full(len(grid[0]), -1), old]) for old in inner]
    values = np.concatenate([np.zeros(len(grid[0]), np.int64), sums.values])
    ordering = np.lexsort(columns[::-1])
    columns = [column[ordering] for column in columns]
    values = values[ordering]
    # Of a new and old rows of the same coordinate, the old ones count, which come later.
    keep = ordering >= len(grid[0])
    keep |= np.append(_begins(columns[: depth + 2])[1:], True)[: len(keep)]
    return _Table([column[keep] for column in columns], values[keep])


def _streams(sums: _Table, stops: np.ndarray, order: int) -> dict[str, np.ndarray]:
    tables = np.arange(len(stops))
    outputs = {}
    if order == 1:
        fiber, crd = sums.columns
        ends = np.searchsorted(fiber, tables, side="right")
        outputs["out_crd0"] = _with_stops(crd, ends, stops)
        outputs["out_val"] = _with_stops(sums.values, ends, stops)
        return outputs
    table, outer, inner = sums.columns
    rows = np.flatnonzero(_begins([table, outer]))
    outputs["out_crd1"] = _with_stops(
        outer[rows], np.searchsorted(table[rows], tables, side="right"), stops
    )
    # An inner fiber for each row, and one for a table without any; the last of a table ends it.
    bare = np.setdiff1d(tables, table[rows])
    owner = np.concatenate([table[rows], bare])
    sizes = np.concatenate([np.diff(np.append(rows, len(table))), np.zeros(len(bare), np.int64)])
    ordering = np.argsort(owner, kind="stable")
    owner, sizes = owner[ordering], sizes[ordering]
    is_last = np.diff(owner, append=-1) != 0
    inner_stops = np.where(is_last, stops[owner] + 1, STOP)
    # A row that is there without an inner coordinate has its place, and nothing in it.
    real = inner >= 0
    ends = np.concatenate([[0], np.cumsum(real)])[np.cumsum(sizes)]
    outputs["out_crd0"] = _with_stops(inner[real], ends, inner_stops)
    outputs["out_val"] = _with_stops(sums.values[real], ends, inner_stops)
    return outputs


def _with_stops(data: np.ndarray, ends: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """``data`` with each stop before the data of number ``ends``, and done."""
    places = ends + np.arange(len(ends))
    tokens = np.empty(len(data) + len(stops) + 1, np.int64)
    is_data = np.ones(len(tokens), bool)
    is_data[places] = False
    is_data[-1] = False
    tokens[is_data] = data
    tokens[places] = stops
    tokens[-1] = DONE
    return tokens

"""From the counters of a run of a part of a launch's rows to those of all.

A stream has tokens for values, for the ends of fibers and for those around that are empty; each
kind grows as the combinations of coordinates do that it is there for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gnarl.hw.sam.block_types import BITVECTOR_BITS, ROW_COUNTS, Array
from gnarl.hw.sam.graph import Block, Graph
from gnarl.hw.sam.unit import OPERATIONS
from gnarl.sw.compiler.sam.streams import (
    Fibers,
    Loops,
    Output,
    is_complete,
    lane_of,
    undivided,
)
from gnarl.sw.runtime.sam.balanced import balanced
from gnarl.sw.runtime.sam.estimate.positions import coordinates_of
from gnarl.sw.runtime.sam.estimate.sample import SampledOperands, Walk
from gnarl.sw.runtime.sam.estimate.scale import Depths, LaunchWork, distinct
from gnarl.sw.runtime.sam.estimate.work import Positions, work

TOKENS, VALUES, WORDS = "tokens", "values", "words"
"""What counters count: tokens of a stream, something for each of its values, or for each word of
bitvectors of its innermost loop."""


@dataclass(frozen=True)
class Counted:
    """What a counter counts, and the stream that says how much it is.

    is_for_each
        whether it counts one for each value, where none is missing.
    """

    counter: str
    kind: str
    stream: Output
    loops: Loops
    is_for_each: bool = False


def grown(whole: LaunchWork, part: SampledOperands, counters: Mapping[str, int]) -> dict[str, int]:
    """Of those ``counters`` that a run of ``part`` left what all rows would."""
    growth = _Growth(whole, part, counters)
    known = [each for each in counted(whole) if each.counter in counters]
    found = {each.counter: counters[each.counter] * growth.of(each) for each in known}
    for alike in _in_lanes(known, whole.index):
        # Lanes of few rows are less even.
        total = sum(found[each.counter] for each in alike)
        shares = growth.shares(alike)
        found |= {each.counter: total * own for each, own in zip(alike, shares, strict=True)}
    found |= _of_channels(counters, found)
    return {counter: round(number) for counter, number in found.items()}


def _of_channels(counters: Mapping[str, int], found: Mapping[str, float]) -> dict[str, float]:
    """Lines of channels, which grow together, as those of arrays do."""
    lines = [name for name in found if name.startswith("lines_")]
    growth = sum(found[name] for name in lines) / max(1, sum(counters[name] for name in lines))
    channels = (name for name in counters if name.startswith("lines_") and name not in found)
    return {name: counters[name] * growth for name in channels}


def counted(whole: LaunchWork) -> Iterator[Counted]:
    """Every counter of a launch but stalls, and entries of bitvectors that are written."""
    graph, loops = whole.graph, whole.loops
    for stream, own in loops.items():
        yield Counted(_counter(stream), TOKENS, stream, own)
    for block in graph.blocks:
        if block.type in OPERATIONS:
            port = OPERATIONS[block.type]
            stream = (block.name, port) if port in block.outputs else _into(graph, block, port)
            yield Counted(f"operations_{block.name}", VALUES, stream, loops[stream], True)
        for array in block.arrays:
            rows = _of_rows(whole, block, array)
            lines = f"lines_{block.name}_{array.name}"
            yield from (rows, replace(rows, counter=lines, is_for_each=False))


def _of_rows(whole: LaunchWork, block: Block, array: Array) -> Counted:
    """What the counter of an array's rows counts."""
    kind = WORDS if array.name == "bv" else VALUES
    port = next(port for port in block.inputs if (block.name, port) in whole.graph.drivers)
    stream = _into(whole.graph, block, port)
    if array.writes:
        loops, is_fibers = whole.loops[stream], array.name == "seg"
        counter = f"{block.name}_{ROW_COUNTS[array.name]}"
        return Counted(counter, kind, stream, loops[:-1] if is_fibers else loops, not is_fibers)
    if array.name in ("crd", "bv"):
        stream = block.name, next(iter(block.outputs))
    counter = f"reads_{block.name}_{array.name}"
    return Counted(counter, kind, stream, whole.loops[stream], array.name in ("seg", "vals"))


def _into(graph: Graph, block: Block, port: str) -> Output:
    edge = graph.drivers[block.name, port]
    return edge.source, edge.output


def _counter(stream: Output) -> str:
    return f"tokens_{stream[0]}_{stream[1]}"


def _in_lanes(known: Sequence[Counted], index: str) -> Iterator[tuple[Counted, ...]]:
    """What counts the same in all lanes that coordinates of the index are dealt to in turn."""
    found: dict[tuple[Fibers, int], dict[int, list[Counted]]] = {}
    for each in known:
        if each.loops and each.loops[0].index == index and (dealt := lane_of(each.loops[0])):
            lane, lanes = dealt
            own = found.setdefault((undivided(each.loops[0]), lanes), {})
            own.setdefault(lane, []).append(each)
    for (_, lanes), own in found.items():
        if len(own) == lanes and len({len(each) for each in own.values()}) == 1:
            yield from zip(*(own[lane] for lane in range(lanes)), strict=True)


class _Growth:
    """By what counts of a run of ``part`` grow, which left ``counters``."""

    def __init__(
        self, whole: LaunchWork, part: SampledOperands, counters: Mapping[str, int]
    ) -> None:
        self._whole, self._part, self._counters = whole, part, counters
        self._outside: dict[tuple[frozenset[tuple[Walk, int]], int], float] = {}
        self._values: dict[Loops, int] = {}
        self._streams: dict[Loops, Output] = {}
        for each in counted(whole):
            if each.counter not in counters:
                continue
            if each.is_for_each and each.kind == VALUES:
                number = counters[each.counter]
                self._values[each.loops] = max(number, self._values.get(each.loops, 0))
            elif each.kind == TOKENS and not self._has_words(each.stream):
                self._streams.setdefault(each.loops, each.stream)

    def of(self, counted: Counted) -> float:
        stream, loops = counted.stream, counted.loops
        if counted.kind == TOKENS:
            return self._of_tokens(stream, loops)
        return (self._of_words if counted.kind == WORDS else self._of_values)(stream, loops)

    def shares(self, alike: Sequence[Counted]) -> list[float]:
        """Which part of what all lanes do each does."""
        own = []
        for lane, each in enumerate(alike):
            loops = each.loops[:-1] if each.kind == WORDS and len(each.loops) > 1 else each.loops
            rows = self._dealt[self._there(each.stream, loops)[self._dealt]][lane :: len(alike)]
            own.append(self._whole.of(each.stream, loops)[rows].sum())
        total = sum(own)
        return [each / total if total else 1 / len(own) for each in own]

    @cached_property
    def _dealt(self) -> np.ndarray:
        """The rows in the order in which they are dealt to lanes, int64 [size]."""
        numbers = balanced(self._whole.operands).renumbered
        return numbers.get(self._whole.index, np.arange(len(self._whole.of_all)))

    def _there(self, stream: Output, loops: Loops) -> np.ndarray:
        """Which rows the outermost loop has, bool [size]."""
        if is_complete(undivided(loops[0])):
            return np.ones(len(self._whole.of_all), bool)
        return self._whole.of(stream, loops[:1]) > 0

    def _of_tokens(self, stream: Output, loops: Loops) -> float:
        tokens = self._counters[_counter(stream)]
        if not tokens or not loops:
            return 1.0
        has_words = self._has_words(stream)
        words = self._counters.get(f"reads_{stream[0]}_bv", 0)
        values = min(words if has_words else self._values_of(loops), tokens - 1)
        ends = min(self._values_of(loops[:-1]), tokens - 1 - values)
        empty = tokens - 1 - values - ends
        found = values * (self._of_words if has_words else self._of_values)(stream, loops)
        found += ends * self._of_values(stream, loops[:-1])
        # Where nothing is around them, one end stands for all.
        found += empty * (self._of_values(stream, loops[:-2]) if self._values_of(loops[:-2]) else 1)
        return (found + 1) / tokens

    def _of_words(self, stream: Output, loops: Loops) -> float:
        words = 1.0
        if loops[-1].index == self._whole.index:
            size, rows = len(self._whole.of_all), len(self._part.rows)
            words = -(-size // BITVECTOR_BITS) / -(-rows // BITVECTOR_BITS)
        return words * self._of_values(stream, loops[:-1])

    def _of_values(self, stream: Output, loops: Loops) -> float:
        if all(fibers.index != self._whole.index for fibers in loops):
            return self._of_outside(self._whole.walked(stream, loops), self._whole.most(loops))
        found, rows = self._whole.of(stream, loops), self._part.rows
        part = found[rows].sum()
        return float(found.sum() / part) if part else len(found) / len(rows)

    def _of_outside(self, depths: Depths, most: int) -> float:
        """Those of loops without the index: more, where operands with it have fewer positions for
        them in the part."""
        key = frozenset(depths.items()), most
        if key not in self._outside:
            index = self._whole.index
            # The first one of an index is which coordinates there are.
            ordered = sorted(depths, key=lambda walk: index not in walk.indices)
            self._outside[key] = 1.0
            if ordered and index in ordered[0].indices:
                root, sizes = ordered[0].indices[0], self._whole.operands.sizes
                whole, part = (
                    distinct(
                        work([at(walk, depths[walk]) for walk in ordered], root, sizes).sum(), most
                    )
                    for at in (self._whole.positions, self._positions)
                )
                self._outside[key] = float(whole / part) if part else 1.0
        return self._outside[key]

    def _positions(self, walk: Walk, depth: int) -> Positions:
        stored = self._part.read_by(self._whole.graph[walk.blocks[0]])
        return Positions(walk.indices[:depth], coordinates_of(stored, depth))

    def _values_of(self, loops: Loops) -> int:
        """Combinations of loops' coordinates in the part, as far as its counters say it."""
        if loops not in self._values:
            stream, outer = self._streams.get(loops), loops[:-1]
            tokens = self._counters[_counter(stream)] if stream is not None else 0
            ends = self._values_of(outer) if loops else 0
            if loops and not ends and outer in self._streams:
                tokens = 0  # but those that end what is empty
            self._values[loops] = max(0, tokens - 1 - ends)
        return self._values[loops]

    def _has_words(self, stream: Output) -> bool:
        return self._whole.graph[stream[0]].type == "bitvectorlookup"

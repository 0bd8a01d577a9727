"""From the counters of a part of a launch's rows to those of all.

A stream has a token for each combination of coordinates of its loops, and one for the end of each
fiber. How many combinations there are for each row is known where it follows from operands alone,
and else assumed to follow them: results of sums are as many for a product as they are in the part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from gnarl.hw.sam.block_types import BITVECTOR_BITS, ROW_COUNTS
from gnarl.hw.sam.graph import Block
from gnarl.hw.sam.unit import OPERATIONS
from gnarl.sw.compiler.sam.sections import graph_of
from gnarl.sw.compiler.sam.streams import Loops, Output, trace
from gnarl.sw.runtime.sam.estimate.positions import coordinates_of
from gnarl.sw.runtime.sam.estimate.sample import SampledOperands, Walk, walks
from gnarl.sw.runtime.sam.estimate.work import Positions, work
from gnarl.sw.runtime.sam.image import Operands

Depths = Mapping[Walk, int]
"""How many levels of each operand are walked."""


class LaunchWork:
    """What makes the work of a launch's streams, by coordinates of ``index``.

    operands
        all of the launch's.
    """

    def __init__(self, operands: Operands, index: str) -> None:
        self.operands, self.index = operands, index
        self.graph = graph_of(operands.launch.sections)
        self.loops = trace(self.graph).loops
        self._known: dict[frozenset[tuple[Walk, int]], np.ndarray] = {}

    @cached_property
    def of_all(self) -> np.ndarray:
        """Combinations of all positions of all operands, float64 [size]."""
        return self.of({walk: len(walk.indices) for walk in walks(self.graph)})

    def of(self, depths: Depths) -> np.ndarray:
        """Combinations of the positions of levels, float64 [size]."""
        key = frozenset(depths.items())
        if key not in self._known:
            self._known[key] = work(
                [self.positions(walk, depth) for walk, depth in depths.items() if depth],
                self.index,
                self.operands.sizes,
            )
        return self._known[key]

    def growth(
        self, part: SampledOperands, counters: Mapping[str, int]
    ) -> Iterator[tuple[str, float]]:
        """Counters of a run of ``part``, and by what each grows to that of all."""
        grown = _Growth(self, part, counters)
        for stream, loops in self.loops.items():
            if (name := _counter(stream)) in counters:
                yield name, grown.of_tokens(stream, loops)
        for block in self.graph.blocks:
            if block.type in OPERATIONS:
                port = OPERATIONS[block.type]
                stream = (block.name, port) if port in block.outputs else self._into(block, port)
                yield f"operations_{block.name}", grown.of_values(stream, self.loops[stream])
            for array in block.arrays:
                counter = f"{block.name}_{ROW_COUNTS[array.name]}"
                if not array.writes:
                    counter = f"reads_{block.name}_{array.name}"
                yield counter, self._of_rows(grown, block, array.name)

    def _of_rows(self, grown: _Growth, block: Block, array: str) -> float:
        """By what the rows of an array grow that are asked for."""
        port = next(port for port in block.inputs if (block.name, port) in self.graph.drivers)
        stream = self._into(block, port)
        loops = self.loops[stream]
        writes = block.type == "fiberwrite"
        if array in ("crd", "bv") and not writes:
            stream = block.name, next(iter(block.outputs))
            loops = self.loops[stream]
        if array == "bv":
            return grown.of_words(stream, loops)
        return grown.of_values(stream, loops[:-1] if writes and array == "seg" else loops)

    def _into(self, block: Block, port: str) -> Output:
        edge = self.graph.drivers[block.name, port]
        return edge.source, edge.output

    def walked(self, stream: Output, loops: Loops) -> dict[Walk, int]:
        """Levels whose positions make the stream's combinations: those of its loops, and all
        before a sum that it lies behind."""
        depths = self._upstream[stream[0]]
        if any(_is_summed(fibers.origin) for fibers in loops):
            return dict(depths)
        own = {fibers.index for fibers in loops}
        found = {}
        for walk, depth in depths.items():
            foreign = (n for n, index in enumerate(walk.indices[:depth]) if index not in own)
            if least := next(foreign, depth):
                found[walk] = least
        return found

    @cached_property
    def _upstream(self) -> dict[str, dict[Walk, int]]:
        """The levels that are walked on the way to each block, its own included."""
        first: dict[str, tuple[Walk, int]] = {}
        for walk in walks(self.graph):
            for depth, name in enumerate(walk.blocks, 1):
                first.setdefault(name, (walk, min(depth, len(walk.indices))))
        found: dict[str, dict[Walk, int]] = {}
        for block in self.graph.topological():
            own: dict[Walk, int] = {}
            for port in block.inputs:
                edge = self.graph.drivers.get((block.name, port))
                for walk, depth in found[edge.source].items() if edge is not None else ():
                    own[walk] = max(depth, own.get(walk, 0))
            if block.name in first:
                walk, depth = first[block.name]
                own[walk] = max(depth, own.get(walk, 0))
            found[block.name] = own
        return found

    def positions(self, walk: Walk, depth: int) -> Positions:
        """Of all operands."""
        if (walk, depth) not in self._coordinates:
            stored = self.operands.storages[walk.tensor]
            self._coordinates[walk, depth] = Positions(
                walk.indices[:depth], coordinates_of(stored, depth)
            )
        return self._coordinates[walk, depth]

    @cached_property
    def _coordinates(self) -> dict[tuple[Walk, int], Positions]:
        return {}


class _Growth:
    """By what streams of a run of ``part`` grow, which left ``counters``."""

    def __init__(
        self, whole: LaunchWork, part: SampledOperands, counters: Mapping[str, int]
    ) -> None:
        self._whole, self._part, self._counters = whole, part, counters
        self._outside: dict[frozenset[tuple[Walk, int]], float] = {}
        self._values: dict[Loops, int] = {}
        self._counted: dict[Loops, Output] = {}
        for stream, loops in whole.loops.items():
            if _counter(stream) in counters and not self._has_words(stream):
                self._counted.setdefault(loops, stream)

    def of_tokens(self, stream: Output, loops: Loops) -> float:
        """By what all tokens of a stream grow: values, ends of fibers, and the one that ends it."""
        tokens = self._counters[_counter(stream)]
        if not tokens or not loops:
            return 1.0
        ends = min(self._values_of(loops[:-1]), tokens - 1)
        own = self.of_words if self._has_words(stream) else self.of_values
        values = (tokens - 1 - ends) * own(stream, loops)
        return (values + ends * self.of_values(stream, loops[:-1]) + 1) / tokens

    def of_words(self, stream: Output, loops: Loops) -> float:
        """By what the words of bitvectors of the innermost loop grow."""
        size, rows = len(self._whole.of_all), len(self._part.rows)
        is_own = loops[-1].index == self._whole.index
        words = -(-size // BITVECTOR_BITS) / -(-rows // BITVECTOR_BITS) if is_own else 1.0
        return words * self.of_values(stream, loops[:-1])

    def of_values(self, stream: Output, loops: Loops) -> float:
        """By what combinations of coordinates of a stream's loops, or of outer ones, grow."""
        depths = self._whole.walked(stream, loops)
        if all(fibers.index != self._whole.index for fibers in loops):
            return self._of_outside(depths)
        found, rows = self._whole.of(depths), self._part.rows
        part = found[rows].sum()
        return float(found.sum() / part) if part else len(found) / len(rows)

    def _of_outside(self, depths: Depths) -> float:
        """Those of loops without the index: more, where operands with it have fewer positions for
        them in the part."""
        key = frozenset(depths.items())
        if key not in self._outside:
            index = self._whole.index
            # The first one of an index is which coordinates there are.
            ordered = sorted(depths, key=lambda walk: index not in walk.indices)
            self._outside[key] = 1.0
            if ordered and index in ordered[0].indices:
                root, sizes = ordered[0].indices[0], self._whole.operands.sizes
                whole, part = (
                    work([positions(walk, depths[walk]) for walk in ordered], root, sizes).sum()
                    for positions in (self._whole.positions, self._positions)
                )
                self._outside[key] = float(whole / part) if part else 1.0
        return self._outside[key]

    def _positions(self, walk: Walk, depth: int) -> Positions:
        stored = self._part.read_by(self._whole.graph[walk.blocks[0]])
        return Positions(walk.indices[:depth], coordinates_of(stored, depth))

    def _values_of(self, loops: Loops) -> int:
        """Combinations of coordinates of loops in the part, where a stream says it."""
        if loops not in self._counted:
            return 0
        if loops not in self._values:
            tokens = self._counters[_counter(self._counted[loops])]
            ends = self._values_of(loops[:-1]) if loops else 0
            self._values[loops] = max(0, tokens - 1 - ends)
        return self._values[loops]

    def _has_words(self, stream: Output) -> bool:
        return self._whole.graph[stream[0]].type == "bitvectorlookup"


def _counter(stream: Output) -> str:
    return f"tokens_{stream[0]}_{stream[1]}"


def _is_summed(origin: object) -> bool:
    """Whether coordinates come out of an accumulator."""
    if not isinstance(origin, tuple):
        return False
    return origin[:1] == ("sums",) or any(map(_is_summed, origin))

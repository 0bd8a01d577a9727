"""From the counters of a part of a launch's rows to those of all.

A stream has a token for each combination of coordinates of its loops. How many that are for each
row is known where it follows from operands alone, and else assumed to follow them: results of sums
are as many for a product as they are in the part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from gnarl.hw.sam.block_types import ROW_COUNTS
from gnarl.hw.sam.graph import Block
from gnarl.hw.sam.unit import OPERATIONS
from gnarl.sw.compiler.sam.sections import graph_of
from gnarl.sw.compiler.sam.streams import Loops, Output, trace
from gnarl.sw.runtime.sam.estimate.positions import coordinates_of
from gnarl.sw.runtime.sam.estimate.sample import Walk, walks
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
        self._operands, self._index = operands, index
        self._graph = graph_of(operands.launch.sections)
        self._loops = trace(self._graph).loops
        self._known: dict[frozenset[tuple[Walk, int]], np.ndarray] = {}

    @cached_property
    def of_all(self) -> np.ndarray:
        """Combinations of all positions of all operands, float64 [size]."""
        return self._work({walk: len(walk.indices) for walk in walks(self._graph)})

    def growth(self, rows: np.ndarray) -> Iterator[tuple[str, float]]:
        """Counters, and by what those of the launch with ``rows`` of the index alone grow."""
        for (name, output), loops in self._loops.items():
            yield f"tokens_{name}_{output}", self._growth((name, output), loops, rows)
        for block in self._graph.blocks:
            if block.type in OPERATIONS:
                port = OPERATIONS[block.type]
                stream = (block.name, port) if port in block.outputs else self._into(block, port)
                yield f"operations_{block.name}", self._growth(stream, self._loops[stream], rows)
            for array in block.arrays:
                stream, loops = self._rows_of(block, array.name)
                counter = f"{block.name}_{ROW_COUNTS[array.name]}"
                if not array.writes:
                    counter = f"reads_{block.name}_{array.name}"
                yield counter, self._growth(stream, loops, rows)

    def _into(self, block: Block, port: str) -> Output:
        edge = self._graph.drivers[block.name, port]
        return edge.source, edge.output

    def _rows_of(self, block: Block, array: str) -> tuple[Output, Loops]:
        """The stream, and its loops, of which an array has a row for each combination."""
        port = next(port for port in block.inputs if (block.name, port) in self._graph.drivers)
        stream = self._into(block, port)
        loops = self._loops[stream]
        if array == "seg" and block.type == "fiberwrite":
            return stream, loops[:-1]
        if array in ("crd", "bv") and block.type != "fiberwrite":
            output = next(iter(block.outputs))
            return (block.name, output), self._loops[block.name, output]
        return stream, loops

    def _growth(self, stream: Output, loops: Loops, rows: np.ndarray) -> float:
        if all(fibers.index != self._index for fibers in loops):
            return 1.0
        found = self._work(self._walked(stream, loops))
        part = found[rows].sum()
        return float(found.sum() / part) if part else len(found) / len(rows)

    def _walked(self, stream: Output, loops: Loops) -> dict[Walk, int]:
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
        for walk in walks(self._graph):
            for depth, name in enumerate(walk.blocks, 1):
                first.setdefault(name, (walk, min(depth, len(walk.indices))))
        found: dict[str, dict[Walk, int]] = {}
        for block in self._graph.topological():
            own: dict[Walk, int] = {}
            for port in block.inputs:
                edge = self._graph.drivers.get((block.name, port))
                for walk, depth in found[edge.source].items() if edge is not None else ():
                    own[walk] = max(depth, own.get(walk, 0))
            if block.name in first:
                walk, depth = first[block.name]
                own[walk] = max(depth, own.get(walk, 0))
            found[block.name] = own
        return found

    def _work(self, depths: Depths) -> np.ndarray:
        key = frozenset(depths.items())
        if key not in self._known:
            self._known[key] = work(
                [self._positions(walk, depth) for walk, depth in depths.items() if depth],
                self._index,
                self._operands.sizes,
            )
        return self._known[key]

    def _positions(self, walk: Walk, depth: int) -> Positions:
        if (walk, depth) not in self._coordinates:
            stored = self._operands.storages[walk.tensor]
            self._coordinates[walk, depth] = Positions(
                walk.indices[:depth], coordinates_of(stored, depth)
            )
        return self._coordinates[walk, depth]

    @cached_property
    def _coordinates(self) -> dict[tuple[Walk, int], Positions]:
        return {}


def _is_summed(origin: object) -> bool:
    """Whether coordinates come out of an accumulator."""
    if not isinstance(origin, tuple):
        return False
    return origin[:1] == ("sums",) or any(map(_is_summed, origin))

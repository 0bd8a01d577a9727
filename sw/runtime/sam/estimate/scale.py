"""What the tokens of a launch's streams are made of, by coordinates of an index.

A stream has a value for each combination of coordinates of its loops. How many these are follows
from operands alone, but behind sums, where several products have one coordinate: as many are
distinct there as if they were drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import prod

import numpy as np

from gnarl.sw.compiler.sam.sections import graph_of
from gnarl.sw.compiler.sam.streams import Fibers, Loops, Output, trace
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
        self.operands, self.index = operands, index
        self.graph = graph_of(operands.launch.sections)
        self.loops = trace(self.graph).loops
        self._coordinates: dict[tuple[Walk, int], Positions] = {}
        self._products: dict[frozenset[tuple[Walk, int]], np.ndarray] = {}
        self._distinct: dict[tuple[frozenset[tuple[Walk, int]], int], np.ndarray] = {}

    @cached_property
    def of_all(self) -> np.ndarray:
        """Combinations of all positions of all operands, float64 [size]."""
        return self._of({walk: len(walk.indices) for walk in walks(self.graph)})

    def of(self, stream: Output, loops: Loops) -> np.ndarray:
        """Combinations of coordinates of a stream's loops, or of outer ones, float64 [size]."""
        depths = self.walked(stream, loops)
        most = self.most(loops)
        key = frozenset(depths.items()), most
        if key not in self._distinct:
            self._distinct[key] = distinct(self._of(depths), most)
        return self._distinct[key]

    def most(self, loops: Loops) -> int:
        """Of how many combinations those of loops with a coordinate of ``index`` are, where they
        come out of sums; 0: of all that there are."""
        others = (each.index for each in loops if each.index != self.index)
        sizes = self.operands.sizes
        return prod(sizes.get(each, 1) for each in others) if are_summed(loops) else 0

    def walked(self, stream: Output, loops: Loops) -> dict[Walk, int]:
        """Levels whose positions make the stream's combinations: those of its loops, and all
        before a sum that it lies behind."""
        depths = self._upstream[stream[0]]
        if are_summed(loops):
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

    def _of(self, depths: Depths) -> np.ndarray:
        key = frozenset(depths.items())
        if key not in self._products:
            self._products[key] = work(
                [self.positions(walk, depth) for walk, depth in depths.items() if depth],
                self.index,
                self.operands.sizes,
            )
        return self._products[key]

    def positions(self, walk: Walk, depth: int) -> Positions:
        """Where an operand has positions, all of them."""
        if (walk, depth) not in self._coordinates:
            stored = self.operands.storages[walk.tensor]
            self._coordinates[walk, depth] = Positions(
                walk.indices[:depth], coordinates_of(stored, depth)
            )
        return self._coordinates[walk, depth]


def distinct(products: np.ndarray, most: int) -> np.ndarray:
    """How many of ``most`` things are drawn at random at least once; ``most`` = 0: all are
    others."""
    if most < 2:
        return np.minimum(products, most) if most else products
    return -most * np.expm1(products * np.log1p(-1 / most))


def are_summed(loops: Loops) -> bool:
    """Whether coordinates of one of the loops come out of an accumulator."""
    return any(map(_is_summed, loops))


def _is_summed(origin: object) -> bool:
    match origin:
        case Fibers(_, origin, base):
            return _is_summed(origin) or _is_summed(base)
        case ("sums", *_):
            return True
        case tuple() | frozenset():
            return any(map(_is_summed, origin))
    return False

"""Affine numbers and boxes of a plan as flat arrays, which are evaluated once sizes are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.sram_compute.isa import DIMENSIONS
from gnarl.sw.compiler.sram_compute.lower.records import Records
from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, Box, Interval, at, number
from gnarl.sw.program.jit import compiled_inner

AFFINE = np.dtype([("constant", np.int64), ("first", np.int64), ("end", np.int64)])
"""A number, and its terms, from ``first`` up to ``end``."""

TERM = np.dtype([("name", np.int64), ("factor", np.int64)])


class Bounds(NamedTuple):
    """Affine bounds as flat arrays.

    affines, terms
        ``AFFINE`` [n], ``TERM`` [n].
    ends
        int64 [n]: numbers of affine numbers.
    boxes
        int64 [boxes, dimensions, 3]: where in ``ends`` the lower ends of an interval begin, where
        the upper ones, and where these are over.
    """

    affines: Records
    terms: Records
    ends: np.ndarray
    boxes: np.ndarray


class BoundsBuilder:
    """Collects them, each once.

    names
        numbers of the names that they have.
    """

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._affines: dict[Affine, int] = {}
        self._intervals: dict[Interval, int] = {}
        self._boxes: dict[Box, int] = {}

    def name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def affine(self, affine: Affine) -> int:
        for name, _ in affine.terms:
            self.name(name)
        return self._affines.setdefault(affine, len(self._affines))

    def box(self, box: Box) -> int:
        """Adds a box, with all dimensions that a command has."""
        whole = (*box, *(at(number(0)),) * (DIMENSIONS - len(box)))
        for interval in whole:
            assert interval.lower and interval.upper, "a box of no end"
            self._intervals.setdefault(interval, len(self._intervals))
            for end in (*interval.lower, *interval.upper):
                self.affine(end)
        return self._boxes.setdefault(whole, len(self._boxes))

    def bounds(self) -> Bounds:
        affines: list[tuple[int, ...]] = []
        terms: list[tuple[int, int]] = []
        for affine in self._affines:
            first = len(terms)
            terms += [(self.names[name], factor) for name, factor in affine.terms]
            affines.append((affine.constant, first, len(terms)))
        intervals: list[tuple[int, ...]] = []
        ends: list[int] = []
        for interval in self._intervals:
            first = len(ends)
            ends += [self._affines[end] for end in (*interval.lower, *interval.upper)]
            intervals.append((first, first + len(interval.lower), len(ends)))
        boxes = [[intervals[self._intervals[each]] for each in box] for box in self._boxes]
        return Bounds(
            np.array(affines, AFFINE),
            np.array(terms, TERM),
            np.array(ends, np.int64),
            np.array(boxes, np.int64).reshape(-1, DIMENSIONS, 3),
        )


@compiled_inner
def value_of(bounds: Bounds, affine: int, names: np.ndarray) -> int:
    """The value of an affine number. ``names``: int64 [names], the values of names."""
    number = bounds.affines[affine]
    value: int = number.constant
    for place in range(number.first, number.end):
        value += names[bounds.terms[place].name] * bounds.terms[place].factor
    return value


@compiled_inner
def cells_of(bounds: Bounds, box: int, names: np.ndarray, cells: np.ndarray) -> bool:
    """Puts first and, without, last cell of each dimension in ``cells``, int64 [dimensions, 2];
    gives whether there are any."""
    some = True
    for dimension in range(DIMENSIONS):
        first = bounds.boxes[box, dimension, 0]
        upper, end = bounds.boxes[box, dimension, 1], bounds.boxes[box, dimension, 2]
        for place in range(first, end):
            value = value_of(bounds, bounds.ends[place], names)
            if place == first:
                cells[dimension, 0] = value
            elif place < upper:
                cells[dimension, 0] = max(cells[dimension, 0], value)
            elif place == upper:
                cells[dimension, 1] = value
            else:
                cells[dimension, 1] = min(cells[dimension, 1], value)
        some &= cells[dimension, 0] < cells[dimension, 1]
        cells[dimension, 1] = max(cells[dimension, 0], cells[dimension, 1])
    return some

"""Iterations that lie side by side, and the elements that they are at.

Source: Infinity Stream, section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnarl.sw.compiler.sram_compute.tdfg.affine import (
    Affine,
    Box,
    Interval,
    affine_of,
    at,
    number,
)
from gnarl.sw.compiler.sram_compute.tdfg.statements import Reduction, reject
from gnarl.sw.workloads.loops.ir.nest import Expression, For, Load, Nest
from gnarl.sw.workloads.loops.ir.parts import nodes


@dataclass(frozen=True)
class Frame:
    """The cells of a statement's iterations.

    variables
        of each dimension of the lattice that has a loop: its variable, and by how much its cell
        lies above its value.
    cells
        of each dimension the cells of all iterations.
    """

    variables: Mapping[int, tuple[str, Affine]]
    cells: Box


class Iterations:
    """The iterations of a region's loops, on a lattice of ``rank`` dimensions. ``around``: loops
    that run one iteration after the other, outside of the region.

    outer
        sizes of the nest and variables of loops around that are never negative.
    ranges
        of variables whose loops were added: their lower and upper bounds, the latter without.
    """

    def __init__(self, nest: Nest, around: Sequence[For], rank: int) -> None:
        self.outer = {size.name for size in nest.sizes}
        self._around: list[tuple[str, Affine, Affine]] = []
        for loop in around:
            lower, upper = affine_of(loop.lower), affine_of(loop.upper)
            if lower is None or lower.names - self.outer or not lower.is_at_least(number(0)):
                continue
            self.outer.add(loop.variable)
            if upper is not None and not upper.names - self.outer:
                self._around.append((loop.variable, lower, upper))
        self.ranges: dict[str, tuple[Affine, Affine]] = {}
        self._rank = rank

    def add(self, loop: For) -> None:
        """A loop whose iterations lie side by side. Raises ``NotTensor``."""
        lower, upper = affine_of(loop.lower), affine_of(loop.upper)
        for bound, expression in ((lower, loop.lower), (upper, loop.upper)):
            if bound is None:
                word = (
                    "loaded"
                    if any(isinstance(e, Load) for e in nodes(expression))
                    else "not affine"
                )
                reject(
                    expression.place,
                    f"a bound of {loop.variable} is {word}: must be affine in sizes",
                )
            others = bound.names - self.outer
            if others:
                reject(
                    expression.place,
                    f"a bound of {loop.variable} has {min(others)}: must be affine in sizes and "
                    "the variables of loops that run in order, for iterations to make a box",
                )
        if loop.step != 1:
            reject(loop.place, f"{loop.variable} steps by {loop.step}: must be by 1")
        assert lower is not None and upper is not None
        self.ranges[loop.variable] = lower, upper

    def reached(self, box: Box) -> Box:
        """A box around those that a box is in all iterations of the loops around."""
        return tuple(
            Interval(
                tuple(self._extreme(each, is_least=True) for each in one.lower),
                tuple(self._extreme(each, is_least=False) for each in one.upper),
            )
            for one in box
        )

    def _extreme(self, value: Affine, *, is_least: bool) -> Affine:
        for name, lower, upper in reversed(self._around):
            factor = value.factor(name)
            bound = lower if (factor > 0) == is_least else upper + -1
            value = value.without(name) + bound * factor
        return value

    def indices(self, indices: Sequence[Expression]) -> list[Affine | None]:
        """The index in each dimension of the lattice, dimension 0 first."""
        found: list[Affine | None] = [affine_of(each) for each in reversed(indices)]
        return found + [number(0)] * (self._rank - len(indices))

    def variable(self, index: Affine) -> str | None:
        """The one loop variable that an index has once, beside numbers of the outside."""
        inner = [name for name in index.names if name in self.ranges]
        if len(inner) == 1 and index.factor(inner[0]) == 1:
            return inner[0] if not index.without(inner[0]).names - self.outer else None
        return None

    def aligned(
        self, indices: Sequence[Affine | None], frame: Frame
    ) -> tuple[Box | None, list[Any]]:
        """The part of the array that iterations read, and what brings it to their cells: of each
        dimension a distance, or distance and count of a broadcast."""
        box: list[Interval] = []
        moves: list[Any] = []
        for dimension, index in enumerate(indices):
            if index is None:
                return None, []
            variable = self.variable(index)
            cells = frame.cells[dimension]
            (start,), (end,) = cells.lower, cells.upper
            if variable is not None:
                name, offset = frame.variables.get(dimension, ("", number(0)))
                if name != variable:
                    return None, []
                distance = offset - index.without(variable)
                box.append(cells + -distance)
                moves.append(distance)
            elif index.names - self.outer:
                return None, []
            else:
                box.append(at(index))
                is_line = dimension in frame.variables
                distance = start - index
                moves.append((distance, end - start) if is_line else distance)
        return tuple(box), moves

    def line(self, loop: For, value: Reduction, variables: Mapping[int, Any]) -> tuple[int, Affine]:
        """The dimension along which a loop is summed up, and the cell of its iteration 0: those of
        the first load with its variable."""
        for each in nodes(value.term):
            if isinstance(each, Load):
                for dimension, index in enumerate(self.indices(each.indices)):
                    if index is None or dimension in variables:
                        continue
                    if self.variable(index) == loop.variable:
                        return dimension, index.without(loop.variable)
        reject(
            value.place,
            f"no dimension is free to sum {loop.variable} up along: must be one in which the "
            "result has one element",
        )

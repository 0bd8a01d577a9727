"""How a line of cells is summed up, as loops of the golden model: by halves, or tile by tile, where
stream engines finish what arrays begin.

Source: Infinity Stream, section 3.2, figure 4: a reduction in memory, and a stream that reduces its
partial results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gnarl.sw.compiler.sram_compute.tdfg.affine import Box, number
from gnarl.sw.compiler.sram_compute.tdfg.functions import identity
from gnarl.sw.compiler.sram_compute.tdfg.graph import Reduce
from gnarl.sw.workloads.loops.ir.index_expressions import add, integer, variable
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    Binary,
    BinaryOperator,
    Constant,
    Expression,
    For,
    If,
    Load,
    Statement,
    Store,
)
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32
from gnarl.sw.workloads.place import Location

_ROUNDS = 31
"""Halvings after which a line of any length has one cell."""


class TileOrder(NamedTuple):
    """The order in which stream engines finish the sum of a line that begins with cell 0.

    tile
        cells of the line in a tile, which are summed up by halves, down to
    kept
        partial sums. Then each such is summed up
    tiles
        over so many tiles of a bank, from the last one to the first, then over
    banks
        again from the last one; and last, what is left, by halves. All are powers of two, but
        ``tiles`` where there is one bank, and ``banks``.
    """

    tile: int
    kept: int
    tiles: int
    banks: int


def may_be_finished(node: Reduce, domain: Box) -> bool:
    """Whether stream engines can finish the sum, of an operand with this domain: words, from the
    first cell of the lattice on."""
    return node.type in (FLOAT32, INT32) and domain[node.dimension].lower == (number(0),)


@dataclass(frozen=True)
class Line:
    """A line of the array ``name``, from the cell ``lower`` to, without, ``upper``, whose first
    cell gets the sum.

    indices
        of the array, from the cell in the line's dimension.
    variable
        for that cell.
    """

    node: Reduce
    name: str
    indices: Callable[[Expression], tuple[Expression, ...]]
    variable: str
    lower: Expression
    upper: Expression
    place: Location

    def by_halves(self) -> tuple[Statement, ...]:
        """Sums up by halves, in any order of bounds; ``line_count`` and ``line_half`` are
        locals."""
        count, half = (variable(each, self.place) for each in ("line_count", "line_half"))
        doubled = self._integers("*", half, self._number(2))
        larger = Assign("line_half", doubled, self.place)
        grow = self._if(self._integers("<", doubled, count), larger)
        zero, one = self._number(0), self._number(1)
        last = add(self.lower, self._integers("-", count, half), self.place)
        rounds = (
            Assign("line_half", one, self.place),
            For("doubling", zero, self._number(_ROUNDS - 1), 1, (grow,), self.place),
            self._combined(self.lower, last, half),
            Assign("line_count", half, self.place),
        )
        again = self._if(self._integers(">", count, one), *rounds)
        return (
            Assign("line_count", self._integers("-", self.upper, self.lower), self.place),
            self._if(self._integers("<", count, one), self._empty()),
            For("halving", zero, self._number(_ROUNDS), 1, (again,), self.place),
        )

    def by_tiles(self, order: TileOrder) -> tuple[Statement, ...]:
        """Sums up by tiles, in ``order``; ``lower`` is 0, ``line_half`` a local."""
        zero, upper, place = self._number(0), self.upper, self.place
        tile, bank = variable("line_tile", place), variable("line_bank", place)
        half = variable("line_half", place)
        within_bank = order.tiles * order.tile
        inside = For("line_tile", zero, upper, order.tile, (self._part(tile, half, half),), place)
        within = self._backwards(bank, order.tiles, order.tile, order.kept)
        return (
            self._if(self._integers("<", upper, self._number(1)), self._empty()),
            *self._halved(order.tile, order.kept, inside),
            For("line_bank", zero, upper, within_bank, within, place),
            *self._backwards(zero, order.banks, within_bank, order.kept),
            *self._halved(order.kept, 1, self._part(zero, half, half)),
        )

    def _halved(self, cells: int, kept: int, combined: Statement) -> tuple[Statement, ...]:
        """``combined`` for each ``line_half``, from many cells to few."""
        place, half = self.place, variable("line_half", self.place)
        less = Assign("line_half", self._integers(">>", half, self._number(1)), place)
        rounds = self._number((cells // kept).bit_length() - 1)
        return (
            Assign("line_half", self._number(cells // 2), place),
            For("line_round", self._number(0), rounds, 1, (combined, less), place),
        )

    def _backwards(
        self, first: Expression, count: int, apart: int, cells: int
    ) -> tuple[Statement, ...]:
        """``count`` groups of cells, ``apart`` cells from one to the next, added to the ones before
        them, the last first."""
        step = self._integers("*", variable("line_step", self.place), self._number(apart))
        start = self._integers("-", self._number((count - 2) * apart), step)
        first = add(first, start, self.place)
        part = self._part(first, self._number(cells), self._number(apart))
        return (For("line_step", self._number(0), self._number(count - 1), 1, (part,), self.place),)

    def _part(self, first: Expression, cells: Expression, distance: Expression) -> Statement:
        """Combines so many cells with those at a distance, as far as the line has these."""
        last = add(first, cells, self.place)
        end = self._integers("-", self.upper, distance)
        least = Binary(BinaryOperator.MINIMUM, last, end, self.place)
        return self._combined(first, least, distance)

    def _combined(self, first: Expression, last: Expression, distance: Expression) -> Statement:
        """Cells with those at a distance."""
        node, place, cell = self.node, self.place, variable(self.variable, self.place)
        operands = [
            Load(self.name, self.indices(each), node.type, place)
            for each in (cell, add(cell, distance, place))
        ]
        value = Binary(BinaryOperator(node.function), operands[0], operands[1], place)
        store = Store(self.name, self.indices(cell), value, place)
        return For(self.variable, first, last, 1, (store,), place)

    def _empty(self) -> Statement:
        node, place = self.node, self.place
        value = Constant(identity(node.function, node.type), node.type, place)
        return Store(self.name, self.indices(self.lower), value, place)

    def _if(self, condition: Expression, *statements: Statement) -> Statement:
        return If(condition, statements, (), self.place)

    def _integers(self, operator: str, left: Expression, right: Expression) -> Binary:
        return Binary(BinaryOperator(operator), left, right, self.place)

    def _number(self, value: int) -> Expression:
        return integer(value, self.place)

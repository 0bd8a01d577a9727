"""Statements that store a compressed result of an expression, level by level.

A level that follows an operand is stored at that one's positions. Others are appended to, where
the loop over their coordinate ends: ``X_count<n>`` says how many coordinates level n of X has.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.sw.workloads.loops.expressions.expression_parts import (
    coordinates_of,
    entries_of,
    segments_of,
    values_of,
)
from gnarl.sw.workloads.loops.expressions.result_levels import ResultLevels
from gnarl.sw.workloads.loops.ir import nest as ir
from gnarl.sw.workloads.loops.ir.index_expressions import add, integer, multiply, one_more, variable
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32

Positions = Sequence[ir.Expression]
"""The position of each operand, in the last level of it that loops have come to."""


class CompressedResult:
    """``positions`` are those in the loops around a statement."""

    def __init__(self, levels: ResultLevels) -> None:
        self._levels = levels
        self._place = levels.parts.place
        self._last = len(levels) - 1

    def before(self) -> list[ir.Statement]:
        """Statements before all loops."""
        levels = self._levels
        ends = [each + 1 for each in levels.appended if levels.drops(each) and each < self._last]
        names = [*map(self._count, levels.appended), *map(self._end, ends)]
        return [self._assign(name, integer(0, self._place)) for name in names]

    def store(self, value: ir.Expression, positions: Positions) -> list[ir.Statement]:
        """A value of the innermost loop."""
        if not self._levels.is_sum:
            return [self._store_value(value, positions)]
        sum = ir.Variable(self._sum, FLOAT32, self._place)
        statements: list[ir.Statement] = [self._assign(self._sum, add(sum, value, self._place))]
        if self._levels.drops(self._last):
            statements.append(self._assign(self._found, integer(1, self._place)))
        return statements

    def body(
        self, depth: int, inside: Sequence[ir.Statement], positions: Positions
    ) -> list[ir.Statement]:
        """The body of the loop ``depth``, which has ``inside`` in it."""
        if depth > self._last:
            return [*inside]
        head: list[ir.Statement] = []
        behind: list[ir.Statement] = []
        if depth == self._last and self._levels.is_sum:
            head = [self._assign(self._sum, ir.Constant(0.0, FLOAT32, self._place))]
            if self._levels.drops(depth):
                head.append(self._assign(self._found, integer(0, self._place)))
            sum = ir.Variable(self._sum, FLOAT32, self._place)
            behind = [self._store_value(sum, positions)]
        behind += self._ends(depth, positions)
        if not self._levels.is_dense(depth) and self._levels.drops(depth):
            behind = [self._if_any(depth, behind)]
        return [*head, *inside, *behind]

    def behind(self) -> list[ir.Statement]:
        """Statements behind all loops."""
        if self._levels.is_dense(0):
            return []
        return [self._store_end(0, integer(1, self._place))]

    # Names.

    def _count(self, number: int) -> str:
        return f"{self._levels.name}_count{number}"

    def _end(self, number: int) -> str:
        """The variable that says where the last fiber that was kept ends."""
        return f"{self._levels.name}_end{number}"

    @property
    def _sum(self) -> str:
        return f"{self._levels.name}_sum"

    @property
    def _found(self) -> str:
        """Whether the sum is of anything."""
        return f"{self._levels.name}_found"

    # Statements.

    def _ends(self, number: int, positions: Positions) -> list[ir.Statement]:
        """Statements that end a coordinate of a level, which may be appended, and the fiber below
        it."""
        place, levels = self._place, self._levels
        at, below = self._position(number, positions), number + 1
        ends: list[ir.Statement] = []
        if not levels.is_dense(number):
            coordinate = variable(levels.path[number], place)
            ends = [ir.Store(coordinates_of(levels.name, number), (at,), coordinate, place)]
        if number < self._last and not levels.is_dense(below):
            ends.append(self._store_end(below, one_more(at, place)))
        if number in levels.appended:
            ends.append(self._assign(self._count(number), one_more(at, place)))
        return ends

    def _if_any(self, number: int, statements: list[ir.Statement]) -> ir.If:
        """What is done for a coordinate only if there is something below it."""
        place, below = self._place, number + 1
        if number == self._last:
            flag, least = variable(self._found, place), integer(0, place)
            is_any = ir.Binary(ir.BinaryOperator.GREATER, flag, least, place)
            return ir.If(is_any, tuple(statements), (), place)
        count, end = (variable(name(below), place) for name in (self._count, self._end))
        is_any = ir.Binary(ir.BinaryOperator.GREATER, count, end, place)
        return ir.If(is_any, (*statements, self._assign(self._end(below), count)), (), place)

    def _store_end(self, number: int, at: ir.Expression) -> ir.Store:
        """Stores the end of a fiber, whose segment ends at ``at`` of the array."""
        levels, place = self._levels, self._place
        end: ir.Expression
        if number in levels.followed:
            level = levels.followed[number]
            tensor = levels.parts.operands[level.operand].tensor
            end = variable(entries_of(tensor, 0), place)
            if number:
                end = ir.Load(segments_of(tensor, level.number), (at,), INT32, place)
        else:
            end = variable(self._count(number), place)
        return ir.Store(segments_of(levels.name, number), (at,), end, place)

    def _store_value(self, value: ir.Expression, positions: Positions) -> ir.Store:
        at = self._position(self._last, positions)
        return ir.Store(values_of(self._levels.name), (at,), value, self._place)

    def _position(self, number: int, positions: Positions) -> ir.Expression:
        """The position of the coordinate that the loops are at; of one to be appended, its position
        then."""
        levels, place = self._levels, self._place
        if number in levels.followed:
            return positions[levels.followed[number].operand]
        if number in levels.appended:
            return variable(self._count(number), place)
        index = variable(levels.path[number], place)
        if not number:
            return index
        size = variable(levels.parts.size_of(levels.path[number]), place)
        return add(multiply(self._position(number - 1, positions), size, place), index, place)

    def _assign(self, name: str, value: ir.Expression) -> ir.Assign:
        return ir.Assign(name, value, self._place)

"""Lowers the parts of an expression to a loop nest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.workloads.loops.expressions.compressed_result import CompressedResult
from gnarl.sw.workloads.loops.expressions.dense_result import DenseResult
from gnarl.sw.workloads.loops.expressions.expression_parts import (
    Level,
    Loop,
    Parts,
    at,
    coordinates_of,
    entries_of,
    segments_of,
    values_of,
)
from gnarl.sw.workloads.loops.expressions.result_levels import ResultLevels, is_compressed
from gnarl.sw.workloads.loops.ir import nest as ir
from gnarl.sw.workloads.loops.ir.index_expressions import add, integer, multiply, one_more, variable
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, FLOAT32, INT32
from gnarl.sw.workloads.loops.ir.verify import verify
from gnarl.sw.workloads.tensor.expression import Access, Constant


def nest_of(parts: Parts) -> ir.Nest:
    """A loop runs over a dimension where all tensors are dense in it, over a fiber where one is
    compressed, and merges fibers where two are. Products add up in the order of the loops.

    Raises ``WorkloadError`` naming the result where loops cannot store it as it is to be.
    """
    return _Lowering(parts).nest()


@dataclass(frozen=True)
class _State:
    """Inside so many loops: positions of operands in the last level that loops have gone through,
    and which of them have the coordinate, inside of unions."""

    positions: tuple[ir.Expression, ...]
    present: tuple[ir.Expression, ...] = ()

    def entered(self, level: Level, position: ir.Expression) -> _State:
        positions = list(self.positions)
        positions[level.operand] = position
        return _State(tuple(positions), self.present)


class _Lowering:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._place = parts.place
        self._result: CompressedResult | DenseResult
        if is_compressed(parts.statement):
            levels = ResultLevels(parts)
            self._result, self._stored = CompressedResult(levels), levels.arrays()
        else:
            self._result = DenseResult(parts)
            self._stored = self._result.arrays()

    def nest(self) -> ir.Nest:
        zero = integer(0, self._place)
        loops = self._loops(0, _State((zero,) * len(self._parts.operands)))
        body = (*self._result.before(), *loops, *self._result.behind())
        sizes, parameters = self._parameters()
        lowered = ir.Nest("expression", sizes, parameters, body, self._place)
        verify(lowered)
        return lowered

    def _loops(self, depth: int, state: _State) -> tuple[ir.Statement, ...]:
        if depth == len(self._parts.loops):
            return self._leaf(state)
        loop = self._parts.loops[depth]
        for level in loop.dense:
            state = state.entered(level, self._element(level, loop, state))
        if len(loop.compressed) == 2:
            return (self._merged(depth, loop, state),)
        if loop.compressed:
            return (self._over_fiber(depth, loop, state),)
        zero = integer(0, self._place)
        upper = variable(self._parts.size_of(loop.index), self._place)
        body = self._body(depth, state)
        return (ir.For(loop.index, zero, upper, 1, body, self._place),)

    def _body(self, depth: int, state: _State) -> tuple[ir.Statement, ...]:
        inside = self._loops(depth + 1, state)
        return tuple(self._result.body(depth, inside, state.positions))

    def _element(self, level: Level, loop: Loop, state: _State) -> ir.Expression:
        """The position of a dense level's coordinate."""
        place = at(self._parts.operands[level.operand])
        coordinate = variable(loop.index, place)
        if not level.number:
            return coordinate
        size = variable(self._parts.size_of(loop.index), place)
        row = multiply(state.positions[level.operand], size, place)
        return add(row, coordinate, place)

    def _fiber(self, level: Level, state: _State) -> ir.Fiber:
        """Empty where the operand lacks the coordinate around."""
        access = self._parts.operands[level.operand]
        place, above = at(access), state.positions[level.operand]
        coordinates = coordinates_of(access.tensor, level.number)
        if not level.number:
            upper = variable(entries_of(access.tensor, 0), place)
            return ir.Fiber(coordinates, integer(0, place), upper, place)
        segments = segments_of(access.tensor, level.number)
        bounds: list[ir.Expression] = [
            ir.Load(segments, (each,), INT32, place) for each in (above, one_more(above, place))
        ]
        if state.present:
            has = state.present[level.operand]
            bounds = [ir.Select(has, each, integer(0, place), place) for each in bounds]
        return ir.Fiber(coordinates, bounds[0], bounds[1], place)

    def _over_fiber(self, depth: int, loop: Loop, state: _State) -> ir.For:
        (level,) = loop.compressed
        fiber = self._fiber(level, state)
        position = variable(_position(level), fiber.place)
        coordinate = ir.Load(fiber.array, (position,), INT32, fiber.place)
        inside = self._body(depth, state.entered(level, position))
        body = (ir.Assign(loop.index, coordinate, fiber.place), *inside)
        return ir.For(position.name, fiber.lower, fiber.upper, 1, body, fiber.place)

    def _merged(self, depth: int, loop: Loop, state: _State) -> ir.Merge:
        left, right = (self._fiber(level, state) for level in loop.compressed)
        names = [_position(level) for level in loop.compressed]
        kind, present = ir.MergeKind.INTERSECT, []
        if self._parts.is_sum:
            kind = ir.MergeKind.UNION
            present = [f"has{level.operand}_{level.number}" for level in loop.compressed]
            flags = tuple(ir.Variable(name, BOOL, self._place) for name in present)
            state = _State(state.positions, flags)
        for level, name, fiber in zip(loop.compressed, names, (left, right), strict=True):
            state = state.entered(level, variable(name, fiber.place))
        body, positions = self._body(depth, state), (names[0], names[1])
        return ir.Merge(
            kind, loop.index, positions, tuple(present), (left, right), body, self._place
        )

    def _leaf(self, state: _State) -> tuple[ir.Statement, ...]:
        place = self._place
        positions = iter(state.positions)
        values: list[ir.Expression] = []
        for factor in self._parts.factors:
            if isinstance(factor, Access):
                array, index = values_of(factor.tensor), (next(positions),)
                values.append(ir.Load(array, index, FLOAT32, at(factor)))
            elif isinstance(factor, Constant):
                values.append(ir.Constant(float(np.float32(factor.value)), FLOAT32, place))
        is_sum = self._parts.is_sum
        operator = ir.BinaryOperator.ADD if is_sum else ir.BinaryOperator.MULTIPLY
        value = reduce(lambda left, right: ir.Binary(operator, left, right, place), values)
        if not state.present:
            return tuple(self._result.store(value, state.positions))
        left, right = state.present
        both = ir.Binary(ir.BinaryOperator.AND, left, right, place)
        of_both, of_left, of_right = (
            tuple(self._result.store(each, state.positions)) for each in (value, *values)
        )
        one = ir.If(left, of_left, of_right, place)
        return (ir.If(both, of_both, (one,), place),)

    def _parameters(self) -> tuple[tuple[ir.Size, ...], tuple[ir.Array, ...]]:
        arrays: dict[str, ir.Array] = {}
        for access, path in zip(self._parts.operands, self._parts.paths, strict=True):
            arrays |= {each.name: each for each in self._operand_arrays(access, path)}
        arrays |= {each.name: each for each in self._stored}
        # In the order in which shapes have them, as the Python notation has sizes.
        dimensions = [each for array in arrays.values() for each in array.shape]
        names = {name: ir.Size(name, self._place) for each in dimensions for name in _names(each)}
        return tuple(names.values()), tuple(arrays.values())

    def _operand_arrays(self, access: Access, path: Iterable[str]) -> list[ir.Array]:
        place, name = at(access), access.tensor
        count: ir.Expression | None = None  # of positions: one
        arrays = []
        for number, index in enumerate(path):
            if self._parts.statement.formats[name].levels[number] == DENSE:
                size = variable(self._parts.size_of(index), place)
                count = size if count is None else multiply(count, size, place)
                continue
            if count is not None:
                length = one_more(count, place)
                arrays.append(ir.Array(segments_of(name, number), INT32, (length,), place))
            count = variable(entries_of(name, number), place)
            arrays.append(ir.Array(coordinates_of(name, number), INT32, (count,), place))
        return [*arrays, ir.Array(values_of(name), FLOAT32, (count or integer(1, place),), place)]


def _position(level: Level) -> str:
    """The variable that is an operand's position in a compressed level."""
    return f"at{level.operand}_{level.number}"


def _names(size: ir.Expression) -> list[str]:
    match size:
        case ir.Variable(name):
            return [name]
        case ir.Binary(_, left, right):
            return _names(left) + _names(right)
    return []

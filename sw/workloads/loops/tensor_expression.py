"""Tensor index expressions as loop nests: products, and sums of two tensors; results dense.

A loop runs over a dimension where all tensors are dense in it, over a fiber where one is
compressed, and merges fibers where two are. Products add up in the order of the loops.
Tensor B has arrays ``B_values``, and of each compressed level n ``B_segments<n>`` and
``B_coordinates<n>``; the result X of (i, j) is ``X[i_size, j_size]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from hw.lib.errors import WorkloadError
from hw.lib.formats import holds, range_of
from hw.sam.block_types import BITVECTOR, COMPRESSED, DENSE
from sw.workloads.loops import nest as ir
from sw.workloads.loops.place import Place
from sw.workloads.loops.scalar_type import BOOL, FLOAT32, INT32
from sw.workloads.loops.verify import verify
from sw.workloads.loops.workload import LoopWorkload
from sw.workloads.refusals import refuse_first
from sw.workloads.tensor.expression import (
    Access,
    Call,
    Constant,
    Expression,
    Statement,
    stored_indices,
)
from sw.workloads.tensor.operands import bind_operands
from sw.workloads.tensor.parser import parse
from sw.workloads.tensor.storage import CompressedLevel, store
from sw.workloads.tensor.tensor import Tensor
from sw.workloads.tensor.workload import read_expression

FILE = "expression"
"""What places call an expression's text; they are on its line 1."""


def expression_nest(text: str) -> ir.Nest:
    """Raises ``WorkloadError`` that names the column."""
    return _Lowering(parse(text)).nest()


def expression_workload(text: str, inputs: Mapping[str, Any]) -> LoopWorkload:
    """With operands by name, each what ``sw.workloads.tensor.operands.operand`` takes.

    Raises ``WorkloadError`` that names the column, or the operand.
    """
    workload = read_expression(text)
    nest = _Lowering(workload.statement).nest()
    arrays, sizes = expression_arrays(workload.statement, inputs)
    used = {size.name: sizes[size.name] for size in nest.sizes if size.name in sizes}
    return LoopWorkload(workload.name, nest, arrays, used, text)


def expression_arrays(
    statement: Statement, inputs: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """The arrays of operands as the statement stores them, and the sizes of all indices.

    Raises ``WorkloadError`` naming the operand, or its entry that float32 does not hold.
    """
    tensors = bind_operands(statement, inputs)
    arrays: dict[str, np.ndarray] = {}
    sizes: dict[str, int] = {}
    for access in statement.operands:
        tensor, name = tensors[access.tensor], access.tensor
        _require_float32(name, tensor)
        sizes.update((f"{i}_size", n) for i, n in zip(access.indices, tensor.shape, strict=True))
        stored = store(tensor, statement.formats[name], name=name)
        for number, level in enumerate(stored.levels):
            if isinstance(level, CompressedLevel):
                arrays[f"{name}_segments{number}"] = level.segments
                arrays[f"{name}_coordinates{number}"] = level.coordinates
        arrays[f"{name}_values"] = stored.values.astype(np.float32)
    return arrays, sizes


def _require_float32(name: str, tensor: Tensor) -> None:
    values, places = tensor.values, tensor.coordinates
    refuse_first(
        ~holds("float32", values),
        lambda at: (
            f"{name}[{','.join(map(str, places[at]))}] = {values[at]}: {range_of('float32')}"
        ),
    )


@dataclass(frozen=True)
class _State:
    """Inside so many loops: levels that operands have gone through, and positions in the last."""

    levels: tuple[int, ...]
    positions: tuple[ir.Expression, ...]
    present: tuple[ir.Expression, ...] = ()

    def entered(self, operand: int, position: ir.Expression) -> _State:
        levels, positions = list(self.levels), list(self.positions)
        levels[operand] += 1
        positions[operand] = position
        return _State(tuple(levels), tuple(positions), self.present)


class _Lowering:
    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._place = _at(statement.result)
        expression = statement.expression
        self._sum = isinstance(expression, Call) and expression.function == "add"
        self._factors = list(_factors(expression, "add" if self._sum else "mul", self._place))
        self._operands = [each for each in self._factors if isinstance(each, Access)]
        self._paths = [
            stored_indices(each, statement.formats[each.tensor]) for each in self._operands
        ]
        self._check()

    def _check(self) -> None:
        statement, result = self._statement, self._statement.result
        if any(level != DENSE for level in statement.formats[result.tensor].levels):
            _refuse(self._place, f"{result.tensor}: only dense results are supported")
        if statement.lanes is not None:
            _refuse(self._place, "parallelize is not supported in loop nests")
        for access in self._operands:
            if BITVECTOR in statement.formats[access.tensor].levels:
                _refuse(_at(access), f"{access.tensor}: levels must be dense or compressed")
            if len(set(access.indices)) != len(access.indices):
                _refuse(_at(access), f"{access}: an index must not stand in it twice")
        missing = set(result.indices).difference(*(each.indices for each in self._operands))
        if missing:
            _refuse(self._place, f"{min(missing)}: must be an index of a tensor on the right")
        if self._sum and (
            len(self._factors) != 2
            or len(self._operands) != 2
            or any(set(each.indices) != set(result.indices) for each in self._operands)
        ):
            _refuse(self._place, "a sum must be of two tensors with the indices of the result")

    def nest(self) -> ir.Nest:
        zero = ir.Constant(0, INT32, self._place)
        count = len(self._operands)
        body = self._loops(0, _State((0,) * count, (zero,) * count))
        sizes, parameters = self._parameters()
        found = ir.Nest("expression", sizes, parameters, body, self._place)
        verify(found)
        return found

    def _loops(self, depth: int, state: _State) -> tuple[ir.Statement, ...]:
        order = self._statement.order
        if depth == len(order):
            return self._leaf(state)
        index = order[depth]
        compressed = []
        for number, (access, path) in enumerate(zip(self._operands, self._paths, strict=True)):
            if index not in path:
                continue
            if path[state.levels[number]] != index:
                _refuse(
                    _at(access),
                    f"{access}: is stored {', '.join(path)}: loops must be in this order",
                )
            if self._level(number, state) == COMPRESSED:
                compressed.append(number)
            else:
                place = _at(access)
                size = ir.Variable(f"{index}_size", INT32, place)
                row = ir.Binary(ir.BinaryOperator.MULTIPLY, state.positions[number], size, place)
                at = row if state.levels[number] else None
                variable = ir.Variable(index, INT32, place)
                position = (
                    variable
                    if at is None
                    else ir.Binary(ir.BinaryOperator.ADD, at, variable, place)
                )
                state = state.entered(number, position)
        if self._sum and len(compressed) == 1:
            _refuse(self._place, f"{index}: both tensors of a sum must be compressed, or neither")
        if len(compressed) > 2:
            _refuse(self._place, f"{index}: at most two compressed tensors can be merged")
        if len(compressed) == 2:
            return (self._merged(depth, index, (compressed[0], compressed[1]), state),)
        if compressed:
            return (self._over_fiber(depth, index, compressed[0], state),)
        zero = ir.Constant(0, INT32, self._place)
        upper = ir.Variable(f"{index}_size", INT32, self._place)
        body = self._loops(depth + 1, state)
        return (ir.For(index, zero, upper, 1, body, self._place),)

    def _level(self, number: int, state: _State) -> str:
        return self._statement.formats[self._operands[number].tensor].levels[state.levels[number]]

    def _fiber(self, number: int, state: _State) -> ir.Fiber:
        access, level = self._operands[number], state.levels[number]
        place, above = _at(access), state.positions[number]
        one = ir.Constant(1, INT32, place)
        after = ir.Binary(ir.BinaryOperator.ADD, above, one, place)
        segments = f"{access.tensor}_segments{level}"
        lower, upper = (ir.Load(segments, (each,), INT32, place) for each in (above, after))
        return ir.Fiber(f"{access.tensor}_coordinates{level}", lower, upper, place)

    def _over_fiber(self, depth: int, index: str, number: int, state: _State) -> ir.For:
        fiber, name = self._fiber(number, state), f"at{number}_{state.levels[number]}"
        position = ir.Variable(name, INT32, fiber.place)
        coordinate = ir.Load(fiber.array, (position,), INT32, fiber.place)
        inside = self._loops(depth + 1, state.entered(number, position))
        body = (ir.Assign(index, coordinate, fiber.place), *inside)
        return ir.For(name, fiber.lower, fiber.upper, 1, body, fiber.place)

    def _merged(self, depth: int, index: str, numbers: tuple[int, int], state: _State) -> ir.Merge:
        names = [f"at{number}_{state.levels[number]}" for number in numbers]
        fibers = [self._fiber(number, state) for number in numbers]
        for number, name, fiber in zip(numbers, names, fibers, strict=True):
            state = state.entered(number, ir.Variable(name, INT32, fiber.place))
        kind, present = ir.MergeKind.INTERSECT, []
        if self._sum:
            if depth + 1 < len(self._statement.order):
                _refuse(self._place, f"{index}: only a sum's last level may be compressed")
            kind, present = ir.MergeKind.UNION, [f"has{number}" for number in numbers]
            flags = tuple(ir.Variable(name, BOOL, self._place) for name in present)
            state = _State(state.levels, state.positions, flags)
        body = self._loops(depth + 1, state)
        left, right = fibers
        return ir.Merge(
            kind, index, (names[0], names[1]), tuple(present), (left, right), body, self._place
        )

    def _leaf(self, state: _State) -> tuple[ir.Statement, ...]:
        place, result = self._place, self._statement.result
        indices: tuple[ir.Expression, ...] = tuple(
            ir.Variable(index, INT32, place) for index in result.indices
        ) or (ir.Constant(0, INT32, place),)
        positions = iter(state.positions)
        values: list[ir.Expression] = []
        for factor in self._factors:
            if isinstance(factor, Access):
                at = (next(positions),)
                values.append(ir.Load(f"{factor.tensor}_values", at, FLOAT32, _at(factor)))
            elif isinstance(factor, Constant):
                values.append(ir.Constant(float(np.float32(factor.value)), FLOAT32, place))
        operator = ir.BinaryOperator.ADD if self._sum else ir.BinaryOperator.MULTIPLY
        value = reduce(lambda left, right: ir.Binary(operator, left, right, place), values)
        if state.present:
            left, right = state.present
            both = ir.Binary(ir.BinaryOperator.AND, left, right, place)
            stores = [
                ir.Store(result.tensor, indices, stored, place) for stored in (value, *values)
            ]
            one = ir.If(left, (stores[1],), (stores[2],), place)
            return (ir.If(both, (stores[0],), (one,), place),)
        if set(self._statement.order) > set(result.indices):
            add = ir.BinaryOperator.ADD
            return (ir.AugmentedStore(add, result.tensor, indices, value, place),)
        return (ir.Store(result.tensor, indices, value, place),)

    def _parameters(self) -> tuple[tuple[ir.Size, ...], tuple[ir.Array, ...]]:
        place, result = self._place, self._statement.result
        arrays: dict[str, ir.Array] = {}
        one = ir.Constant(1, INT32, place)
        for access, path in zip(self._operands, self._paths, strict=True):
            count: ir.Expression | None = None  # of positions: one
            at, name = _at(access), access.tensor
            for number, index in enumerate(path):
                if self._statement.formats[name].levels[number] == DENSE:
                    size = ir.Variable(f"{index}_size", INT32, at)
                    multiply = ir.BinaryOperator.MULTIPLY
                    count = size if count is None else ir.Binary(multiply, count, size, at)
                    continue
                segments, coordinates = f"{name}_segments{number}", f"{name}_coordinates{number}"
                length = ir.Binary(ir.BinaryOperator.ADD, count or one, one, at)
                count = ir.Variable(f"{name}_entries{number}", INT32, at)
                arrays[segments] = ir.Array(segments, INT32, (length,), at)
                arrays[coordinates] = ir.Array(coordinates, INT32, (count,), at)
            arrays[f"{name}_values"] = ir.Array(f"{name}_values", FLOAT32, (count or one,), at)
        shape: tuple[ir.Expression, ...] = tuple(
            ir.Variable(f"{index}_size", INT32, place) for index in result.indices
        )
        arrays[result.tensor] = ir.Array(result.tensor, FLOAT32, shape or (one,), place)
        # In the order in which shapes have them, as the Python notation has sizes.
        dimensions = [each for array in arrays.values() for each in array.shape]
        names = {name: ir.Size(name, place) for each in dimensions for name in _names(each)}
        return tuple(names.values()), tuple(arrays.values())


def _names(size: ir.Expression) -> list[str]:
    match size:
        case ir.Variable(name):
            return [name]
        case ir.Binary(_, left, right):
            return _names(left) + _names(right)
    return []


def _factors(expression: Expression, function: str, place: Place) -> list[Access | Constant]:
    """Operands of nested calls of one function, left to right."""
    if isinstance(expression, Access | Constant):
        return [expression]
    if expression.function != function:
        _refuse(
            place,
            f"{expression.function}: an expression must be a product, or a sum of two tensors",
        )
    return [each for part in expression.arguments for each in _factors(part, function, place)]


def _at(access: Access) -> Place:
    return Place(FILE, 1, access.column)


def _refuse(place: Place, text: str) -> NoReturn:
    raise WorkloadError(f"{place}: {text}")

"""Statements that store a dense result of an expression: one array, which begins as zeros."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.sw.workloads.loops.expressions.expression_parts import Parts
from gnarl.sw.workloads.loops.ir import nest as ir
from gnarl.sw.workloads.loops.ir.index_expressions import integer, variable
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32


class DenseResult:
    """The members are those of ``CompressedResult``. A scalar is an array of one element."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._place = parts.place

    def arrays(self) -> list[ir.Array]:
        place, result = self._place, self._parts.result
        size_of = self._parts.size_of
        shape = tuple(variable(size_of(index), place) for index in result.indices)
        return [ir.Array(result.tensor, FLOAT32, shape or (integer(1, place),), place)]

    def before(self) -> list[ir.Statement]:
        return []

    def store(self, value: ir.Expression, positions: Sequence[ir.Expression]) -> list[ir.Statement]:
        place, result = self._place, self._parts.result
        indices: tuple[ir.Expression, ...] = tuple(
            variable(index, place) for index in result.indices
        ) or (integer(0, place),)
        if len(self._parts.loops) > len(result.indices):
            add = ir.BinaryOperator.ADD
            return [ir.AugmentedStore(add, result.tensor, indices, value, place)]
        return [ir.Store(result.tensor, indices, value, place)]

    def body(
        self, depth: int, inside: Sequence[ir.Statement], positions: Sequence[ir.Expression]
    ) -> list[ir.Statement]:
        return [*inside]

    def behind(self) -> list[ir.Statement]:
        return []

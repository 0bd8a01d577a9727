"""A pure Einsum statement as loops, whatever its operands and its result lie in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias

from gnarl.sw.workloads.einsum.program import Einsum, EinsumExpression
from gnarl.sw.workloads.loops.element_functions import element, number
from gnarl.sw.workloads.loops.expressions.destination import Destination, Indices
from gnarl.sw.workloads.loops.expressions.program_arrays import Layout
from gnarl.sw.workloads.loops.expressions.statement_loops import Sizes, Walk, loops
from gnarl.sw.workloads.loops.ir import nest as ir
from gnarl.sw.workloads.loops.ir.index_expressions import integer, one_more, variable
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.tensor.expression import Access, Reduction


class Operands(Protocol):
    """The tensors that statements take."""

    @property
    def layouts(self) -> Mapping[str, Layout]:
        """The arrays that each lies in."""

    def element(self, tensor: str, indices: Indices, place: Location) -> ir.Expression:
        """An element of a dense tensor."""

    def stored(self, array: str, position: ir.Expression, place: Location) -> ir.Expression:
        """An element of an array that a compressed tensor lies in."""

    def entries(self, tensor: str) -> int:
        """The number of values of a compressed tensor."""


@dataclass(frozen=True)
class Inside:
    """Inside of some loops: the value of each index, and the position in values of each operand
    that they walk."""

    indices: Mapping[str, ir.Expression]
    positions: Mapping[Access, ir.Expression]

    def at(self, index: str, value: ir.Expression) -> Inside:
        return replace(self, indices={**self.indices, index: value})


Body: TypeAlias = Callable[[Inside], Sequence[ir.Statement]]


@dataclass(frozen=True)
class StatementLowering:
    """The loops of a statement.

    sizes
        of its indices.
    variable
        gives a name that no loop has yet.
    """

    statement: Einsum
    sizes: Sizes
    operands: Operands
    variable: Callable[[], str]
    place: Location

    @cached_property
    def steps(self) -> list[Walk]:
        """All loops, the outermost first."""
        return loops(self.statement, self.operands.layouts, self.sizes)

    @property
    def outside(self) -> Inside:
        """Outside of all loops; indices of size 1 are 0."""
        zero = integer(0, self.place)
        return Inside({index: zero for index, size in self.sizes.items() if size == 1}, {})

    @cached_property
    def shared(self) -> int:
        """How many of the loops are over indices of the result, in their order, and around all
        that becomes of an element."""
        shared = 0
        for step, index in zip(self.steps, self._kept, strict=False):
            if step != Walk(index):
                break
            shared += 1
        return shared

    @property
    def outer_dimensions(self) -> int:
        """How many dimensions of the result, the first ones, are of size 1, or what the ``shared``
        loops are over."""
        left = self.shared
        for dimension, index in enumerate(self.statement.result.indices):
            if self.sizes[index] != 1 and not left:
                return dimension
            left -= self.sizes[index] != 1
        return len(self.statement.result.indices)

    @cached_property
    def _kept(self) -> list[str]:
        return [index for index in self.statement.result.indices if self.sizes[index] != 1]

    def stored(self, to: Destination) -> Sequence[ir.Statement]:
        """Stores what is element-wise."""

        def body(at: Inside) -> Sequence[ir.Statement]:
            return [self.store(to, at, self.value(self.statement.expression, at))]

        if self.steps:
            return self.nested(self.steps, self.outside, body)
        once = self.variable(), integer(0, self.place), integer(1, self.place), 1
        return [ir.For(*once, tuple(body(self.outside)), self.place)]

    def reduced(self, to: Destination, outer: Inside) -> Sequence[ir.Statement]:
        """Stores a reduction, inside of the loops that are ``shared``. A sum is added to what is
        there."""
        reduction = self.statement.expression
        assert isinstance(reduction, Reduction)
        statements: list[ir.Statement] = []
        if reduction.op == "max" and all(self.sizes[index] for index in reduction.indices):
            least = number(float("-inf"), FLOAT32, self.place)
            statements += self.each(outer, lambda at: [self.store(to, at, least)])
        inner = self.steps[self.shared :]
        return [*statements, *self.nested(inner, outer, lambda at: self._accumulated(to, at))]

    def _accumulated(self, to: Destination, at: Inside) -> Sequence[ir.Statement]:
        reduction, place = self.statement.expression, self.place
        assert isinstance(reduction, Reduction)
        value = self.value(reduction.part, at)
        indices = to.at(self._result(at))
        if reduction.op == "sum":
            return [ir.AugmentedStore(ir.BinaryOperator.ADD, to.array, indices, value, place)]
        old = ir.Load(to.array, indices, FLOAT32, place)
        most = ir.Binary(ir.BinaryOperator.MAXIMUM, old, value, place)
        return [ir.Store(to.array, indices, most, place)]

    def each(self, outer: Inside, body: Body) -> Sequence[ir.Statement]:
        """The loops over those indices of the result that are not ``shared``."""
        return self.nested([Walk(index) for index in self._kept[self.shared :]], outer, body)

    def store(self, to: Destination, at: Inside, value: ir.Expression) -> ir.Store:
        """Stores an element of the result."""
        return ir.Store(to.array, to.at(self._result(at)), value, self.place)

    def _result(self, at: Inside) -> Indices:
        return [at.indices[index] for index in self.statement.result.indices]

    def value(self, expression: EinsumExpression, at: Inside) -> ir.Expression:
        """What an expression of the statement's indices is."""

        def leaf(access: Access) -> ir.Expression:
            if access in at.positions:
                values = self.operands.layouts[access.tensor].values
                return self.operands.stored(values, at.positions[access], self.place)
            indices = [at.indices[index] for index in access.indices]
            return self.operands.element(access.tensor, indices, self.place)

        return element(expression, leaf, self.place)

    def nested(self, steps: Sequence[Walk], at: Inside, body: Body) -> Sequence[ir.Statement]:
        """The body in loops."""
        if not steps:
            return body(at)
        step, place = steps[0], self.place
        lower: ir.Expression = integer(0, place)
        upper: ir.Expression = integer(self.sizes[step.index], place)
        if step.access is not None:
            lower, upper = self._bounds(step.access, at)
        name = self.variable()
        own = variable(name, place)
        inside = at.at(step.index, own)
        if step.access is not None:
            inside = self._entered(step.access, at, own)
        inner = self.nested(steps[1:], inside, body)
        return [ir.For(name, lower, upper, 1, tuple(inner), place)]

    def _bounds(self, access: Access, at: Inside) -> tuple[ir.Expression, ir.Expression]:
        own, place = self.operands.layouts[access.tensor], self.place
        if not own.segments:
            entries = self.operands.entries(access.tensor)
            return integer(0, place), integer(entries, place)
        (row,) = (
            at.indices[index]
            for mode, index in enumerate(access.indices)
            if mode not in own.coordinates
        )
        after = one_more(row, place)
        lower, upper = (self.operands.stored(own.segments, each, place) for each in (row, after))
        return lower, upper

    def _entered(self, access: Access, at: Inside, position: ir.Variable) -> Inside:
        """Inside of a loop over the positions of what is stored."""
        coordinates = self.operands.layouts[access.tensor].coordinates
        indices = {
            access.indices[mode]: self.operands.stored(array, position, position.place)
            for mode, array in coordinates.items()
        }
        return Inside({**at.indices, **indices}, {**at.positions, access: position})

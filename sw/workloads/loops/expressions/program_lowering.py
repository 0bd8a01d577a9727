"""The loops of a program's statements.

A statement that takes a reduction element by element is computed in its array, inside of the loops
that both have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias

from gnarl.sw.workloads.einsum.program import Einsum, EinsumExpression, EinsumProgram
from gnarl.sw.workloads.einsum.pure import is_elementwise
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.loops.element_functions import element, number
from gnarl.sw.workloads.loops.expressions.program_arrays import layouts
from gnarl.sw.workloads.loops.expressions.statement_loops import Walk, loops
from gnarl.sw.workloads.loops.ir import nest as ir
from gnarl.sw.workloads.loops.ir.index_expressions import integer, one_more, variable
from gnarl.sw.workloads.loops.ir.names import name_problem
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.loops.ir.verify import verify
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.tensor.expression import Access, Reduction

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class ProgramNest:
    """``temporaries``: arrays of tensors that are neither inputs nor results."""

    nest: ir.Nest
    temporaries: frozenset[str]


@dataclass(frozen=True)
class _Inside:
    """Inside of some loops: the value of each index, and the position in values of each operand
    that they walk."""

    indices: Mapping[str, ir.Expression]
    positions: Mapping[Access, ir.Expression]

    def at(self, index: str, value: ir.Expression) -> _Inside:
        return replace(self, indices={**self.indices, index: value})


Body = Callable[[_Inside], Sequence[ir.Statement]]


class ProgramLowering:
    """The loops of a program whose statements are pure, and whose compressed operands are walked.

    shapes
        of tensors, as ``program_shapes`` takes them.
    arrays
        shapes of the arrays that inputs lie in.
    results
        shapes of results as they are stored.
    """

    def __init__(
        self, program: EinsumProgram, shapes: Shapes, arrays: Shapes, results: Shapes
    ) -> None:
        self._program = program
        sizes = program_shapes(program, shapes)
        self._sizes = sizes.indices
        self._modes = sizes.tensors
        self._layouts = layouts(program)
        own = {name: shape or (1,) for name, shape in {**sizes.tensors, **results}.items()}
        self._shapes = {**own, **arrays}
        self._arrays: dict[str, ir.Array] = {}
        taken = {name for each in self._layouts for name in self._names_of(each)}
        self._variables = (name for at in count() if (name := f"i{at}") not in taken)

    def _names_of(self, tensor: str) -> list[str]:
        own = self._layouts[tensor]
        return [own.segments, *own.coordinates.values(), own.values]

    def lowered(self) -> ProgramNest:
        """The loops of all statements. Raises ``WorkloadError``."""
        body: list[ir.Statement] = []
        place = Location(self._program.name, 1, 1)
        for each in self._program.einsums:
            place = self._place(each)
            if self._finish_of(each) is None:
                body += self._stored(each, place)
        stored = {each.name for each in self._program.statements}
        results = self._program.results
        order = [*(each for each in self._arrays if each not in results), *results]
        arrays = tuple(self._arrays[name] for name in order)
        name = re.sub(r"\W", "_", self._program.name, flags=re.ASCII)
        name = f"t_{name}" if name_problem(name) else name
        nest = ir.Nest(name, (), arrays, tuple(body), place)
        verify(nest)
        return ProgramNest(nest, frozenset(stored & {*self._arrays} - {*results}))

    def _place(self, statement: Einsum) -> Location:
        file, _, line = statement.place.rpartition(":")
        if file and line.isdecimal():
            return Location(file, int(line), 1)
        return Location(self._program.name, 1, 1)

    # What is computed where.

    def _finish_of(self, statement: Einsum) -> Einsum | None:
        """What takes a reduction's tensor in the same array, if anything."""
        users = self._program.consumers.get(statement.name, ())
        is_result = statement.name in self._program.results
        if len(users) != 1 or is_result or is_elementwise(statement, self._sizes[statement.name]):
            return None
        taker = self._program.einsum(users[0])
        return taker if taker and self._begin_of(taker) is statement else None

    def _begin_of(self, statement: Einsum) -> Einsum | None:
        """The reduction that a statement is computed from in the same array, if there is one."""
        if not is_elementwise(statement, self._sizes[statement.name]):
            return None
        if not all(self._layouts[each.tensor].is_dense for each in statement.operands):
            return None
        for name in dict.fromkeys(each.tensor for each in reversed(statement.operands)):
            taken = [each for each in statement.operands if each.tensor == name]
            begin = self._program.einsum(name)
            if (
                begin is not None
                and name not in self._program.results
                and self._program.consumers[name] == (statement.name,)
                and not is_elementwise(begin, self._sizes[name])
                and all(each.indices == statement.result.indices for each in taken)
            ):
                return begin
        return None

    # Statements.

    def _stored(self, statement: Einsum, place: Location) -> Sequence[ir.Statement]:
        self._declare(statement.name, place)
        begin = self._begin_of(statement)
        if begin is not None:
            return self._reduced(begin, statement, self._place(begin))
        if not is_elementwise(statement, self._sizes[statement.name]):
            return self._reduced(statement, None, place)
        steps = loops(statement, self._layouts, self._sizes[statement.name])
        if not steps:
            once = next(self._variables), integer(0, place), integer(1, place), 1
            return [ir.For(*once, tuple(self._store(statement, self._outside(statement))), place)]
        return self._nested(
            statement, steps, self._outside(statement), lambda at: self._store(statement, at)
        )

    def _outside(self, statement: Einsum) -> _Inside:
        """Outside of all loops; indices of size 1 are 0."""
        zero = integer(0, self._place(statement))
        sizes = self._sizes[statement.name]
        return _Inside({index: zero for index, size in sizes.items() if size == 1}, {})

    def _reduced(
        self, begin: Einsum, finish: Einsum | None, place: Location
    ) -> Sequence[ir.Statement]:
        """Stores a reduction, or what is made of each of its elements, where this has its place."""
        last = finish or begin
        steps = loops(begin, self._layouts, self._sizes[begin.name])
        sizes = self._sizes[begin.name]
        kept = [index for index in begin.result.indices if sizes[index] != 1]
        shared = 0
        while shared < len(kept) and steps[shared : shared + 1] == [Walk(kept[shared])]:
            shared += 1
        inner = [Walk(index) for index in kept[shared:]]

        def body(outer: _Inside) -> Sequence[ir.Statement]:
            statements: list[ir.Statement] = []
            assert isinstance(begin.expression, Reduction)
            is_of_any = all(sizes[index] for index in begin.expression.indices)
            if begin.expression.op == "max" and is_of_any:
                least = number(float("-inf"), FLOAT32, place)
                statements += self._nested(
                    begin, inner, outer, lambda at: [self._at(last.name, begin, at, least)]
                )
            statements += self._nested(
                begin, steps[shared:], outer, lambda at: self._accumulated(begin, last.name, at)
            )
            if finish is not None:
                statements += self._nested(
                    begin, inner, outer, lambda at: self._finished(finish, begin, at)
                )
            return statements

        return self._nested(begin, steps[:shared], self._outside(begin), body)

    def _accumulated(self, statement: Einsum, array: str, at: _Inside) -> Sequence[ir.Statement]:
        reduction, place = statement.expression, self._place(statement)
        assert isinstance(reduction, Reduction)
        value = self._value(statement, reduction.part, at)
        indices = self._indices(array, statement.result.indices, at, place)
        if reduction.op == "sum":
            return [ir.AugmentedStore(ir.BinaryOperator.ADD, array, indices, value, place)]
        old = ir.Load(array, indices, FLOAT32, place)
        most = ir.Binary(ir.BinaryOperator.MAXIMUM, old, value, place)
        return [ir.Store(array, indices, most, place)]

    def _finished(self, finish: Einsum, begin: Einsum, at: _Inside) -> Sequence[ir.Statement]:
        values = (at.indices[index] for index in begin.result.indices)
        own = dict(zip(finish.result.indices, values, strict=True))
        inside = _Inside({**self._outside(finish).indices, **own}, {})
        return self._store(finish, inside, {begin.name: finish.name})

    def _store(
        self, statement: Einsum, at: _Inside, names: Mapping[str, str] = {}
    ) -> Sequence[ir.Statement]:
        value = self._value(statement, statement.expression, at, names)
        return [self._at(statement.name, statement, at, value)]

    def _at(self, array: str, statement: Einsum, at: _Inside, value: ir.Expression) -> ir.Store:
        place = self._place(statement)
        indices = self._indices(array, statement.result.indices, at, place)
        return ir.Store(array, indices, value, place)

    # Loops.

    def _nested(
        self, statement: Einsum, steps: Sequence[Walk], at: _Inside, body: Body
    ) -> Sequence[ir.Statement]:
        if not steps:
            return body(at)
        step, place = steps[0], self._place(statement)
        size = self._sizes[statement.name][step.index]
        lower: ir.Expression = integer(0, place)
        upper: ir.Expression = integer(size, place)
        if step.access is not None:
            lower, upper = self._bounds(step.access, at, place)
        name = next(self._variables)
        own = variable(name, place)
        inside = at.at(step.index, own)
        if step.access is not None:
            inside = self._entered(step.access, at, own)
        inner = self._nested(statement, steps[1:], inside, body)
        return [ir.For(name, lower, upper, 1, tuple(inner), place)]

    def _bounds(
        self, access: Access, at: _Inside, place: Location
    ) -> tuple[ir.Expression, ir.Expression]:
        own = self._layouts[access.tensor]
        if not own.segments:
            entries = self._shapes[own.values][0]
            return integer(0, place), integer(entries, place)
        (row,) = (
            at.indices[index]
            for mode, index in enumerate(access.indices)
            if mode not in own.coordinates
        )
        after = one_more(row, place)
        lower, upper = (self._loaded(own.segments, (each,), INT32, place) for each in (row, after))
        return lower, upper

    def _entered(self, access: Access, at: _Inside, position: ir.Variable) -> _Inside:
        """Inside of a loop over the positions of what is stored."""
        coordinates = self._layouts[access.tensor].coordinates
        indices = {
            access.indices[mode]: self._loaded(array, (position,), INT32, position.place)
            for mode, array in coordinates.items()
        }
        positions = {**at.positions, access: position}
        return _Inside({**at.indices, **indices}, positions)

    # Elements.

    def _value(
        self,
        statement: Einsum,
        expression: EinsumExpression,
        at: _Inside,
        names: Mapping[str, str] = {},
    ) -> ir.Expression:
        """What an expression is. ``names``: other arrays of some tensors."""
        place = self._place(statement)

        def leaf(access: Access) -> ir.Expression:
            array = self._layouts[access.tensor].values
            if access in at.positions:
                return self._loaded(array, (at.positions[access],), FLOAT32, place)
            array = names.get(array, array)
            indices = self._indices(array, access.indices, at, place)
            return self._loaded(array, indices, FLOAT32, place)

        return element(expression, leaf, place)

    def _indices(
        self, array: str, names: Sequence[str], at: _Inside, place: Location
    ) -> tuple[ir.Expression, ...]:
        """Indices of an array, which may have more dimensions of size 1 than the tensor, or less;
        all others are there in order."""
        zero = integer(0, place)
        modes = zip(names, self._modes[array], strict=True)
        used = iter([at.indices[name] for name, size in modes if size != 1])
        return tuple(zero if size == 1 else next(used) for size in self._shapes[array])

    def _loaded(
        self, array: str, indices: tuple[ir.Expression, ...], type: ScalarType, place: Location
    ) -> ir.Load:
        self._declare(array, place, type)
        return ir.Load(array, indices, type, place)

    def _declare(self, array: str, place: Location, type: ScalarType = FLOAT32) -> None:
        if array not in self._arrays:
            sizes = tuple(integer(size, place) for size in self._shapes[array])
            self._arrays[array] = ir.Array(array, type, sizes, place)

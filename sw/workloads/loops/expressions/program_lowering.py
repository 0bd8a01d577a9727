"""The loops of a program's statements.

A statement that takes a reduction element by element is computed in its array, inside of the loops
that both have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from gnarl.sw.workloads.einsum.program import Einsum, EinsumProgram, with_accesses
from gnarl.sw.workloads.einsum.pure import is_elementwise
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.loops.expressions.destination import Destination, Indices
from gnarl.sw.workloads.loops.expressions.program_arrays import Layout, layouts
from gnarl.sw.workloads.loops.expressions.statement_lowering import Inside, StatementLowering
from gnarl.sw.workloads.loops.ir import nest as ir
from gnarl.sw.workloads.loops.ir.index_expressions import integer
from gnarl.sw.workloads.loops.ir.names import name_problem
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.loops.ir.verify import verify
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.tensor.expression import Access

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class ProgramNest:
    """``temporaries``: arrays of tensors that are neither inputs nor results."""

    nest: ir.Nest
    temporaries: frozenset[str]


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
        self.layouts: Mapping[str, Layout] = layouts(program)
        own = {name: shape or (1,) for name, shape in {**sizes.tensors, **results}.items()}
        self._shapes = {**own, **arrays}
        self._values = {each.values for each in self.layouts.values()}
        self._arrays: dict[str, ir.Array] = {}
        taken = {name for each in self.layouts for name in self._names_of(each)}
        variables = (name for at in count() if (name := f"i{at}") not in taken)
        self._variable = variables.__next__

    def _names_of(self, tensor: str) -> list[str]:
        own = self.layouts[tensor]
        return [own.segments, *own.coordinates.values(), own.values]

    def lowered(self) -> ProgramNest:
        """The loops of all statements. Raises ``WorkloadError``."""
        body: list[ir.Statement] = []
        place = Location(self._program.name, 1, 1)
        for each in self._program.einsums:
            place = self._place(each)
            if self._finish_of(each) is None:
                body += self._stored(each)
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
        if not all(self.layouts[each.tensor].is_dense for each in statement.operands):
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

    def _stored(self, statement: Einsum) -> Sequence[ir.Statement]:
        self._declare(statement.name, self._place(statement))
        begin = self._begin_of(statement)
        if begin is not None:
            return self._reduced(begin, statement)
        if not is_elementwise(statement, self._sizes[statement.name]):
            return self._reduced(statement, None)
        own = self._lowering(statement)
        return own.stored(self._destination(statement.name, own.place))

    def _lowering(self, statement: Einsum) -> StatementLowering:
        sizes, place = self._sizes[statement.name], self._place(statement)
        return StatementLowering(statement, sizes, self, self._variable, place)

    def _reduced(self, begin: Einsum, finish: Einsum | None) -> Sequence[ir.Statement]:
        """Stores a reduction, or what is made of each of its elements, where this has its place."""
        own = self._lowering(begin)
        to = self._destination((finish or begin).name, own.place)

        def body(outer: Inside) -> Sequence[ir.Statement]:
            statements = [*own.reduced(to, outer)]
            if finish is not None:
                statements += own.each(outer, lambda at: [self._finished(finish, begin, at)])
            return statements

        return own.nested(own.steps[: own.shared], own.outside, body)

    def _finished(self, finish: Einsum, begin: Einsum, at: Inside) -> ir.Statement:
        own = self._lowering(finish)
        values = (at.indices[index] for index in begin.result.indices)
        known = dict(zip(finish.result.indices, values, strict=True))
        inside = Inside({**own.outside.indices, **known}, {})

        def stored(access: Access) -> Access:
            return Access(finish.name, access.indices) if access.tensor == begin.name else access

        value = own.value(with_accesses(finish.expression, stored), inside)
        return own.store(self._destination(finish.name, own.place), inside, value)

    # Operands, as ``StatementLowering`` takes them.

    def element(self, tensor: str, indices: Indices, place: Location) -> ir.Expression:
        array = self.layouts[tensor].values
        return self._loaded(array, self._destination(tensor, place).at(indices), FLOAT32, place)

    def stored(self, array: str, position: ir.Expression, place: Location) -> ir.Expression:
        type = FLOAT32 if array in self._values else INT32
        return self._loaded(array, (position,), type, place)

    def entries(self, tensor: str) -> int:
        return self._shapes[self.layouts[tensor].values][0]

    def _destination(self, tensor: str, place: Location) -> Destination:
        """Elements of an array, which may have more dimensions of size 1 than the tensor, or less;
        all others are there in order."""

        def at(indices: Indices) -> tuple[ir.Expression, ...]:
            modes = zip(indices, self._modes[tensor], strict=True)
            used = iter([index for index, size in modes if size != 1])
            zero = integer(0, place)
            return tuple(zero if size == 1 else next(used) for size in self._shapes[tensor])

        return Destination(tensor, at)

    def _loaded(
        self, array: str, indices: tuple[ir.Expression, ...], type: ScalarType, place: Location
    ) -> ir.Load:
        self._declare(array, place, type)
        return ir.Load(array, indices, type, place)

    def _declare(self, array: str, place: Location, type: ScalarType = FLOAT32) -> None:
        if array not in self._arrays:
            sizes = tuple(integer(size, place) for size in self._shapes[array])
            self._arrays[array] = ir.Array(array, type, sizes, place)

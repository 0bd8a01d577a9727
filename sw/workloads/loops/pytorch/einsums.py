"""Operators that Einsum programs have: each is lowered to statements, as for all targets, and these
become values of the nest.

What a statement takes may be an expression, as of a look-up: it is computed where it is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, NoReturn

from gnarl.sw.workloads.einsum.program import EinsumExpression, EinsumProgram
from gnarl.sw.workloads.einsum.pure import pure
from gnarl.sw.workloads.einsum.pytorch import views as einsum
from gnarl.sw.workloads.einsum.pytorch.inputs import is_strided
from gnarl.sw.workloads.einsum.pytorch.lowering import OPERATORS
from gnarl.sw.workloads.einsum.pytorch.names import Names
from gnarl.sw.workloads.einsum.pytorch.statements import Statements, Step
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.loops.expressions.dense_operands import with_dense_operands
from gnarl.sw.workloads.loops.pytorch.parameters import TYPE_NAMES, Parameters, type_of
from gnarl.sw.workloads.loops.pytorch.shapes import cast_to, part, reshape
from gnarl.sw.workloads.loops.pytorch.sparse_matrix import SparseMatrix
from gnarl.sw.workloads.loops.pytorch.statement_values import StatementValues
from gnarl.sw.workloads.loops.pytorch.values import Value, rearranged, refuse
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.tensor.expression import Call, Constant


def lowered(
    name: str,
    like: Any,
    parameters: Parameters,
    place: Location,
    arguments: Sequence[Any],
    named: Mapping[str, Any],
) -> Any:
    """What the operator ``name`` makes of values of a nest. ``like``: a tensor of the shape, type
    and layout that its result has in PyTorch; none where it has several."""
    dtype = getattr(like, "dtype", None)
    type = type_of("float32" if dtype is None else dtype)
    if type is None:
        refuse(place, f"of {dtype}: must be of {TYPE_NAMES}")
    own = _Einsums(parameters, StatementValues(parameters, place, type))
    step = _NestStep(own.statements, own.statements.names.claim("result"), str(place), name, own)
    given = [own.taken(each) for each in arguments]
    known = {key: own.taken(each) for key, each in named.items()}
    try:
        signature(OPERATORS[name]).bind(step, *given, **known)
    except TypeError as error:
        refuse(place, f"{error}: not supported")
    found = own.made(OPERATORS[name](step, *given, **known))
    if isinstance(found, SparseMatrix) and is_strided(like):
        return own.made(step.elementwise(lambda element: element, own.taken(found)))
    return cast_to(type, found, place) if isinstance(found, Value) and dtype else found


class _Einsums:
    """The statements of one operator, and the values of the nest that they take and make."""

    def __init__(self, parameters: Parameters, values: StatementValues) -> None:
        self.statements = Statements(Names())
        self.parameters, self.place, self._values = parameters, values.place, values
        self._names: dict[int, str] = {}  # by the identity of values
        self._lowered = 0

    def taken(self, argument: Any) -> Any:
        """An argument with tensors of statements in place of values."""
        if isinstance(argument, list | tuple):
            return [self.taken(each) for each in argument]
        if not isinstance(argument, Value | SparseMatrix):
            return argument
        if id(argument) not in self._names:
            view = self.statements.declare("x", argument.shape)
            self._names[id(argument)] = view.tensor
            self._values.by_name[view.tensor] = argument
        return einsum.View.whole(self._names[id(argument)], argument.shape)

    def made(self, found: Any) -> Any:
        """What an operator gives, with values in place of tensors of statements."""
        if isinstance(found, list | tuple):
            return [self.made(each) for each in found]
        return self._value(found) if isinstance(found, einsum.View) else found

    def _value(self, view: einsum.View) -> Value | SparseMatrix:
        self._lower()
        view = view.bare()  # there are no masks
        value = self._values.by_name[view.tensor]
        if view == einsum.View.whole(view.tensor, value.shape):
            return value
        found = [mode for mode in view.modes if mode is not None]
        if isinstance(value, SparseMatrix) and len(found) == view.rank == len(value.shape):
            return value.permuted(found)
        if isinstance(value, SparseMatrix):
            value = self.parameters.plain(value, self.place)
        if found == sorted(found) and _only_ones_come_and_go(view, value.shape):
            return reshape(self.parameters, self.place, value, view.shape)
        places = [view.modes.index(d) if d in found else None for d in range(len(value.shape))]
        return rearranged(self.parameters.plain(value, self.place), view.shape, places)

    def _lower(self) -> None:
        """Makes values of the statements that are new."""
        added = tuple(self.statements.added[self._lowered :])
        self._lowered = len(self.statements.added)
        program = EinsumProgram("operator", added, {}, tuple(each.name for each in added))
        formats = {name: self._values.format_of(name) for name in program.inputs}
        shapes = {name: self.statements.shapes[name] for name in program.inputs}
        program = with_dense_operands(pure(replace(program, formats=formats), shapes))
        sizes = program_shapes(program, shapes).indices
        for each in program.einsums:
            users = program.consumers.get(each.name, ())
            self._values.add(each, sizes[each.name], is_taken_again=len(users) > 1)


def _only_ones_come_and_go(view: einsum.View, shape: Sequence[int]) -> bool:
    """Whether a view has all elements of a tensor once."""
    is_whole = all(size == 1 or d in view.modes for d, size in enumerate(shape))
    return is_whole and all(
        size == 1 or mode is not None for size, mode in zip(view.shape, view.modes, strict=True)
    )


@dataclass(frozen=True)
class _NestStep(Step):
    """An operator of a graph that becomes a nest, which may compute indices."""

    einsums: _Einsums

    def refuse(self, text: str) -> NoReturn:
        refuse(self.einsums.place, text)

    def reshaped(self, view: einsum.View, shape: Sequence[int]) -> einsum.View:
        own = self.einsums
        found: einsum.View = own.taken(reshape(own.parameters, own.place, own.made(view), shape))
        return found

    def part(self, view: einsum.View, dim: int, chosen: range) -> einsum.View:
        own = self.einsums
        found: einsum.View = own.taken(part(own.parameters, own.place, own.made(view), dim, chosen))
        return found

    def mean_of_none(self, view: einsum.View, dims: Sequence[int], keepdim: bool) -> einsum.View:
        """Not a number, as PyTorch has it."""

        def quotient(total: EinsumExpression) -> EinsumExpression:
            return Call("div", (total, Constant(0.0)))

        return self.reduced("sum", view, dims, keepdim, finish=quotient)

"""Einsum programs: statements over named tensors, each computed from those before it.

A statement is an Einsum extended with functions, constants, sums and maxima over named indices:
``h(i,j) = relu(sum[k](A(i,k)*F(k,j)) + b(j))``. Every index that the result lacks is reduced by
name. Others move elements, see ``rearrangement``. Source: FuseFlow, section 4, "Einsum expressions
extended with non-algebraic operators".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from gnarl.sw.workloads.einsum.rearrangement import Rearrangement
from gnarl.sw.workloads.tensor.expression import (
    Access,
    Call,
    Constant,
    EinsumExpression,
    Reduction,
    accesses,
)
from gnarl.sw.workloads.tensor.storage import TensorFormat


@dataclass(frozen=True)
class Einsum:
    """``result = expression``.

    order
        the indices of its loops, outermost first; empty: not chosen.
    place
        where the user wrote it, as errors name it: ``gcn.py:14``; empty: in the text itself.
    layer
        the child module that it belongs to, where a model is read; empty: none.
    """

    result: Access
    expression: EinsumExpression
    order: tuple[str, ...] = ()
    place: str = field(default="", compare=False)
    layer: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """The tensor that it computes, which no other statement does."""
        return self.result.tensor

    @cached_property
    def operands(self) -> tuple[Access, ...]:
        """Every access on the right, left to right."""
        return tuple(accesses(self.expression))

    @cached_property
    def indices(self) -> tuple[str, ...]:
        """Every index, those of the result first, then in order of appearance."""
        used = (*self.result.indices, *(i for each in self.operands for i in each.indices))
        return tuple(dict.fromkeys(used))


AnyStatement: TypeAlias = Einsum | Rearrangement
"""A statement of a program."""


@dataclass(frozen=True)
class EinsumProgram:
    """Statements in an order in which they can be computed.

    An index has one size within a statement; the same name in two statements says nothing. Tensors
    that no statement computes are inputs.

    formats
        how tensors are stored, by name: all inputs and results, and those intermediate tensors for
        which it was chosen.
    results
        tensors that users get, in order.
    shapes
        of tensors of whose indices some are in no operand, by name, where they are known.
    """

    name: str
    statements: tuple[AnyStatement, ...]
    formats: Mapping[str, TensorFormat]
    results: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> AnyStatement:
        """The statement that makes a tensor."""
        return self._by_name[name]

    def einsum(self, name: str) -> Einsum | None:
        """The statement that computes a tensor; ``None`` for inputs, and for what is moved."""
        statement = self._by_name.get(name)
        return statement if isinstance(statement, Einsum) else None

    @cached_property
    def einsums(self) -> tuple[Einsum, ...]:
        """The statements that compute something, in order."""
        return tuple(each for each in self.statements if isinstance(each, Einsum))

    @cached_property
    def rearrangements(self) -> tuple[Rearrangement, ...]:
        """The statements that move elements, in order."""
        return tuple(each for each in self.statements if isinstance(each, Rearrangement))

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, AnyStatement]:
        return {statement.name: statement for statement in self.statements}

    def renamed(self, names: Mapping[str, str]) -> EinsumProgram:
        """The program with other names of tensors, none of which it has."""

        def access(each: Access) -> Access:
            return replace(each, tensor=names.get(each.tensor, each.tensor))

        return EinsumProgram(
            self.name,
            tuple(with_every_access(each, access) for each in self.statements),
            {names.get(name, name): format for name, format in self.formats.items()},
            tuple(names.get(name, name) for name in self.results),
            {names.get(name, name): shape for name, shape in self.shapes.items()},
        )

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Tensors that no statement computes, in order of appearance."""
        used = (access.tensor for each in self.statements for access in each.operands)
        return tuple(dict.fromkeys(name for name in used if name not in self._by_name))

    @cached_property
    def consumers(self) -> dict[str, tuple[str, ...]]:
        """The statements that take each tensor, by its name, in order."""
        taken: dict[str, list[str]] = {}
        for statement in self.statements:
            for name in dict.fromkeys(access.tensor for access in statement.operands):
                taken.setdefault(name, []).append(statement.name)
        return {name: tuple(statements) for name, statements in taken.items()}


def with_every_access(statement: AnyStatement, change: Callable[[Access], Access]) -> AnyStatement:
    """The statement with each access, its result's too, replaced by what ``change`` makes of it."""
    result = change(statement.result)
    if isinstance(statement, Rearrangement):
        operands = tuple(map(change, statement.operands))
        return replace(statement, result=result, operands=operands)
    return replace(statement, result=result, expression=with_accesses(statement.expression, change))


def with_accesses(
    expression: EinsumExpression, change: Callable[[Access], Access]
) -> EinsumExpression:
    """The expression with each access replaced by what ``change`` makes of it."""
    match expression:
        case Access():
            return change(expression)
        case Call(function, arguments):
            return Call(function, tuple(with_accesses(each, change) for each in arguments))
        case Reduction(part=part):
            return replace(expression, part=with_accesses(part, change))
    return expression


def with_part(
    expression: EinsumExpression, old: EinsumExpression, new: EinsumExpression
) -> EinsumExpression:
    """The expression with ``new`` in the place of its part ``old``, the object itself; all other
    parts are the same objects as before."""
    if expression is old:
        return new
    match expression:
        case Call(function, arguments):
            parts = tuple(with_part(each, old, new) for each in arguments)
            changed = any(one is not other for one, other in zip(parts, arguments, strict=True))
            return Call(function, parts) if changed else expression
        case Reduction(part=part):
            inner = with_part(part, old, new)
            return expression if inner is part else replace(expression, part=inner)
    return expression


def reductions(expression: EinsumExpression) -> Iterator[Reduction[EinsumExpression]]:
    """Every reduction, outer ones first."""
    match expression:
        case Call(_, arguments):
            for argument in arguments:
                yield from reductions(argument)
        case Reduction(part=part):
            yield expression
            yield from reductions(part)


def free_indices(expression: EinsumExpression) -> tuple[str, ...]:
    """Indices that are not reduced inside, in order of appearance."""
    match expression:
        case Access(_, indices):
            return tuple(dict.fromkeys(indices))
        case Constant():
            return ()
        case Call(_, arguments):
            return tuple(dict.fromkeys(i for each in arguments for i in free_indices(each)))
        case Reduction(_, indices, part):
            return tuple(i for i in free_indices(part) if i not in indices)

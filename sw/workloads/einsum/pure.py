"""Einsum programs of which every statement is element-wise, or one reduction of what is.

Statements that move elements stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    Einsum,
    EinsumExpression,
    EinsumProgram,
    free_indices,
    reductions,
    with_accesses,
)
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.tensor.expression import Access, Call, Reduction


def pure(
    program: EinsumProgram, shapes: Mapping[str, Sequence[int]] | None = None
) -> EinsumProgram:
    """The program, bit for bit the same, whose reductions each are a statement of their own.

    Reductions over indices of size 1 alone stay where they are: they are their only part.
    ``shapes``: of the inputs, as ``program_shapes`` takes them; without, no size is known.
    """
    return _Split(program, _index_sizes(program, shapes)).program()


_Sizes = Mapping[str, Mapping[str, int]]
"""Sizes of indices, as far as they are known, by statement."""


def _index_sizes(program: EinsumProgram, shapes: Mapping[str, Sequence[int]] | None) -> _Sizes:
    if shapes is None:
        return {each.name: {} for each in program.statements}
    return program_shapes(program, shapes).indices


def is_over_one(reduction: Reduction[EinsumExpression], sizes: Mapping[str, int]) -> bool:
    """Whether a reduction is known to be over a single element."""
    return all(sizes.get(index) == 1 for index in reduction.indices)


def is_elementwise(statement: Einsum, sizes: Mapping[str, int]) -> bool:
    """Whether all reductions of a statement are known to be over single elements."""
    return all(is_over_one(each, sizes) for each in reductions(statement.expression))


class _Split:
    def __init__(self, program: EinsumProgram, sizes: _Sizes) -> None:
        self._program, self._sizes = program, sizes
        self._taken = {*program.inputs, *(each.name for each in program.statements)}
        self._statements: list[AnyStatement] = []

    def program(self) -> EinsumProgram:
        for each in self._program.statements:
            if isinstance(each, Rearrangement):
                self._statements.append(each)
                continue
            expression, sizes = each.expression, self._sizes[each.name]
            if isinstance(expression, Reduction) and not is_over_one(expression, sizes):
                expression = replace(expression, part=self._split(each, expression.part))
            else:
                expression = self._split(each, expression)
            split = replace(each, expression=expression)
            self._statements.append(replace(split, order=_within(split, each)))
        return replace(self._program, statements=tuple(self._statements))

    def _split(self, statement: Einsum, expression: EinsumExpression) -> EinsumExpression:
        """The expression with its reductions taken from statements before it."""
        match expression:
            case Call(function, arguments):
                return Call(function, tuple(self._split(statement, each) for each in arguments))
            case Reduction(part=part):
                reduced = replace(expression, part=self._split(statement, part))
                if is_over_one(expression, self._sizes[statement.name]):
                    return reduced
                result = Access(self._name(statement.name, expression.op), free_indices(reduced))
                own = replace(statement, result=result, expression=reduced)
                self._statements.append(replace(own, order=_within(own, statement)))
                return result
        return expression

    def _name(self, statement: str, op: str) -> str:
        name = f"{statement}_{op}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _within(part: Einsum, whole: Einsum) -> tuple[str, ...]:
    """The order of the whole's loops, as far as they are the part's."""
    return tuple(index for index in whole.order or whole.indices if index in part.indices)


def inlined(
    program: EinsumProgram, shapes: Mapping[str, Sequence[int]] | None = None
) -> EinsumProgram:
    """The program, bit for bit the same, with what is element-wise and taken once in the place
    where it is taken, unless it would be computed more often there. ``shapes``: see ``pure``."""
    sizes = _index_sizes(program, shapes)
    statements = {each.name: each for each in program.statements}
    for name in [each.name for each in program.einsums]:
        takers = [
            taker
            for taker in statements.values()
            for access in _read(taker)
            if access.tensor == name
        ]
        if name in program.results or len(takers) != 1:
            continue
        own, (taker,) = statements[name], takers
        if not (isinstance(own, Einsum) and isinstance(taker, Einsum)):
            continue
        if is_elementwise(own, sizes[name]) and _fits(own, taker, sizes):
            del statements[name]
            taken = replace(taker, expression=_with(taker.expression, own))
            statements[taker.name] = replace(taken, order=taker.order or taker.indices)
    left = {*program.inputs, *statements}
    return replace(
        program,
        statements=tuple(statements.values()),
        formats={name: each for name, each in program.formats.items() if name in left},
        shapes={name: each for name, each in program.shapes.items() if name in left},
    )


def _read(statement: AnyStatement) -> Iterator[Access]:
    if isinstance(statement, Einsum):
        yield from read_accesses(statement.expression)
    else:
        yield from statement.operands


def _fits(own: Einsum, taker: Einsum, sizes: Mapping[str, Mapping[str, int]]) -> bool:
    own_indices = {index for each in own.operands for index in each.indices}
    if own_indices != {*own.result.indices} or any(reductions(own.expression)):
        return False
    if is_elementwise(taker, sizes[taker.name]):
        return True
    access = next(each for each in taker.operands if each.tensor == own.name)
    return {*access.indices} == {*taker.indices}


def read_accesses(expression: EinsumExpression) -> Iterator[Access]:
    """Every access, but once where an absolute value is written with two."""
    match expression:
        case Access():
            yield expression
        case Call("max", (part, Call("neg", (other,)))) if part == other:
            yield from read_accesses(part)
        case Call(_, arguments):
            for each in arguments:
                yield from read_accesses(each)
        case Reduction(part=part):
            yield from read_accesses(part)


def _with(expression: EinsumExpression, own: Einsum) -> EinsumExpression:
    """The expression with the statement's in place of its tensor."""
    match expression:
        case Access(own.name, indices):
            renamed = dict(zip(own.result.indices, indices, strict=True))
            return with_accesses(
                own.expression,
                lambda each: replace(each, indices=tuple(renamed[index] for index in each.indices)),
            )
        case Call(function, arguments):
            return Call(function, tuple(_with(each, own) for each in arguments))
        case Reduction(part=part):
            return replace(expression, part=_with(part, own))
    return expression


def factors(expression: EinsumExpression) -> list[EinsumExpression]:
    """The factors of nested products, through sums around them."""
    match expression:
        case Call("mul", arguments):
            return [factor for each in arguments for factor in factors(each)]
        case Reduction("sum", _, part):
            return factors(part)
    return [expression]

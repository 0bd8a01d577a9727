"""Sums that a statement implies, written out; and what to write where that may mean two things.

Source: Kjolstad et al., "The Tensor Algebra Compiler", OOPSLA 2017, section 3: each term is summed
over its indices that the result lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnarl.hw.lib.errors import short
from gnarl.sw.workloads.einsum.program import (
    Einsum,
    EinsumExpression,
    accesses,
    free_indices,
    reductions,
    with_part,
)
from gnarl.sw.workloads.tensor.columns import fail
from gnarl.sw.workloads.tensor.expression import (
    FUNCTIONS,
    Access,
    Call,
    Reduction,
    Statement,
)
from gnarl.sw.workloads.tensor.notation import text_of

_SHOWN = 200
"""Characters of an expression that errors spell out, at most."""


def explicit(statement: Statement) -> Einsum:
    """The statement with its implied sums written out: it means the same, bit for bit."""
    expression = _with_sums(statement.result, statement.expression, statement.order)
    return Einsum(statement.result, expression, statement.order)


def with_implied_sums(result: Access, expression: EinsumExpression) -> EinsumExpression:
    """An expression without reductions, with its implied sums written out.

    Raises ``WorkloadError`` naming the column of an index that is summed inside of a function that
    is not linear, with both of what may be meant.
    """
    for term, indices in _unreduced(result, expression):
        _refuse_hidden(term, indices)
    return _with_sums(result, expression, free_indices(expression))


def refuse_unreduced(result: Access, expression: EinsumExpression) -> None:
    """Raises ``WorkloadError`` naming the column of an index that is neither reduced nor one of the
    result's, with what may be meant."""
    for term, indices in _unreduced(result, expression):
        reduced = {index for each in reductions(term) for index in each.indices}
        for index in indices:
            if index in reduced:
                fail(
                    _access_with(term, index).column,
                    f"index {index} is also used outside of the reduction over it; "
                    "give it another name there",
                )
        _refuse_hidden(term, indices)
        access = _access_with(term, indices[0])
        fail(
            access.column,
            f"index {indices[0]} of {short(access)} is neither one of {short(result)} nor reduced: "
            f"write {_spelled(Reduction('sum', indices, term))}",
        )


def _with_sums(
    result: Access, expression: EinsumExpression, order: Sequence[str]
) -> EinsumExpression:
    match expression:
        case Call("neg" | "add" | "sub" as function, arguments):
            return Call(function, tuple(_with_sums(result, each, order) for each in arguments))
    used = free_indices(expression)
    summed = tuple(index for index in order if index in used and index not in result.indices)
    return Reduction("sum", summed, expression) if summed else expression


def _unreduced(
    result: Access, expression: EinsumExpression
) -> Iterator[tuple[EinsumExpression, tuple[str, ...]]]:
    """Terms of the top sum with indices that are neither reduced nor the result's."""
    match expression:
        case Call("neg" | "add" | "sub", arguments):
            for part in arguments:
                yield from _unreduced(result, part)
        case _:
            indices = tuple(i for i in free_indices(expression) if i not in result.indices)
            if indices:
                yield expression, indices


_Function = Call[EinsumExpression] | Reduction[EinsumExpression]


def _hiding(term: EinsumExpression, index: str) -> _Function | None:
    """The innermost function that is not linear with all uses of an index in it, if there is
    one."""
    innermost = None
    while isinstance(term, Call | Reduction):
        parts = term.arguments if isinstance(term, Call) else (term.part,)
        inside = [place for place, part in enumerate(parts) if index in free_indices(part)]
        if not _is_linear(term, inside):
            innermost = term
        if len(inside) > 1:
            break
        term = parts[inside[0]]
    return innermost


def _is_linear(function: _Function, places: Sequence[int]) -> bool:
    """Whether it is, of those of its arguments that depend on what is summed."""
    match function:
        case Reduction(op):
            return op == "sum"
        case Call("div"):
            return 0 in places
        case Call(name):
            return name not in FUNCTIONS


def _refuse_hidden(term: EinsumExpression, indices: tuple[str, ...]) -> None:
    """Refuses a sum that may mean two things, with how each is written."""
    hidden = ((index, function) for index in indices if (function := _hiding(term, index)))
    index, function = next(hidden, ("", None))
    if function is None:
        return
    own = tuple(each for each in indices if _hiding(term, each) is function)
    rest = tuple(each for each in indices if each not in own)
    after = with_part(term, function, _of_sums(function, own))
    if rest:
        after = Reduction("sum", rest, after)
    access = _access_with(term, index)
    name = function.op if isinstance(function, Reduction) else function.function
    name = "a quotient" if name == "div" else name
    fail(
        access.column,
        f"index {index} of {short(access)} is summed inside of {name}, which is not linear: for a "
        f"sum of {name} write {_spelled(Reduction('sum', indices, term))}; for {name} of a "
        f"sum write {_spelled(after)}",
    )


def _of_sums(function: _Function, indices: tuple[str, ...]) -> _Function:
    """The function of its arguments summed over those of the indices that they have."""

    def summed(part: EinsumExpression) -> EinsumExpression:
        used = tuple(index for index in indices if index in free_indices(part))
        return Reduction("sum", used, part) if used else part

    if isinstance(function, Call):
        return Call(function.function, tuple(map(summed, function.arguments)))
    return Reduction(function.op, function.indices, summed(function.part))


def _access_with(term: EinsumExpression, index: str) -> Access:
    """The first access with an index that is not reduced there."""
    match term:
        case Reduction(part=part):
            return _access_with(part, index)
        case Call(_, arguments):
            return _access_with(next(a for a in arguments if index in free_indices(a)), index)
    return next(accesses(term))


def _spelled(expression: EinsumExpression) -> str:
    return short(text_of(expression), _SHOWN)

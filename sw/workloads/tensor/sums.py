"""Sums over indices that the result lacks: where they may stand, and which must be written out.

A sum is over a whole term of the top sum. Where all uses of its index are inside of one function
that is not linear, a reader may take it for the function of the sum, so that it must be written as
``sum(k,…)``. Source of the other reading: Kjolstad et al., "The Tensor Algebra Compiler", OOPSLA
2017, section 3, where a sum is over the smallest part that has all uses of its index.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count
from typing import NoReturn

from gnarl.hw.lib.errors import short
from gnarl.sw.workloads.tensor.columns import fail
from gnarl.sw.workloads.tensor.expression import (
    FUNCTIONS,
    Access,
    Call,
    Expression,
    Reduction,
    accesses,
)
from gnarl.sw.workloads.tensor.notation import Binding, Sum, Written, binding, text_of

_ADDED = ("add", "sub")


def without_sums(result: Access, written: Written) -> Expression:
    """The expression, whose every sum is over the term that it is in.

    Raises ``WorkloadError`` naming the column of a sum that is not over a whole term, and of an
    index that is summed inside of a function.
    """
    written = _without_brackets(written)
    for term in _terms(written):
        _check_term(result, term)
    return _bare(written)


def _without_brackets(written: Written, is_term: bool = True) -> Written:
    """With each ``sum[k](…)`` of a whole term as ``sum(k,…)``; refuses other reductions."""
    match written:
        case Reduction("sum", indices, part, column) if is_term:
            total = _without_brackets(part, isinstance(part, Sum | Reduction))
            for index in reversed(indices):
                total = Sum(index, total, column)
            return total
        case Reduction("sum", (index, *_), _, column):
            fail(column, f"sum[{index}] must be of a whole term; sum({index},…) may be in one")
        case Reduction(op, _, _, column):
            fail(column, f"{op} over indices must be in a statement of a program")
        case Sum(index, part, column):
            is_term = is_term and isinstance(part, Sum | Reduction)
            return Sum(index, _without_brackets(part, is_term), column)
        case Call(function, arguments):
            is_term = is_term and function in (*_ADDED, "neg")
            return Call(function, tuple(_without_brackets(each, is_term) for each in arguments))
    return written


def _terms(written: Written) -> Iterator[Written]:
    """The parts of the top sum."""
    if isinstance(written, Call) and written.function in (*_ADDED, "neg"):
        for part in written.arguments:
            yield from _terms(part)
    else:
        yield written


def _bare(written: Written) -> Expression:
    match written:
        case Sum() | Reduction():
            return _bare(written.part)
        case Call(function, arguments):
            return Call(function, tuple(map(_bare, arguments)))
    return written


def _check_term(result: Access, term: Written) -> None:
    bare = _bare(term)
    uses = [index for access in accesses(bare) for index in access.indices]
    sums = list(_sums(term))
    for place, each in enumerate(sums):
        _check_sum(each, result, uses, [other.index for other in sums[:place]])
    if sums and binding(bare) == Binding.TERMS:
        fail(sums[0].column, "a sum is of one term; write a sum of each term")
    known = {*result.indices, *(each.index for each in sums)}
    hidden: dict[str, Call[Expression]] = {}
    for index in dict.fromkeys(uses):
        if index not in known and (call := _hidden_in(bare, index)) is not None:
            hidden[index] = call
    if hidden:
        _refuse_hidden(bare, hidden, [*known, *uses])


def _check_sum(total: Sum, result: Access, uses: Sequence[str], before: Sequence[str]) -> None:
    """Checks the index of a sum, of those that the term uses, with those of sums ``before``."""
    own = [index for access in accesses(_bare(total.part)) for index in access.indices]
    if total.index in result.indices:
        fail(total.column, f"index {total.index} is one of {result}; a sum is over another")
    if total.index not in own:
        fail(total.column, f"index {total.index} is not in what is summed")
    if total.index in before:
        fail(total.column, f"index {total.index} is summed already")
    if own.count(total.index) < uses.count(total.index):
        fail(
            total.column,
            f"index {total.index} is also used outside of the sum over it; "
            "give it another name there",
        )


def _sums(written: Written) -> Iterator[Sum]:
    """Sums in a term, from the outermost on."""
    match written:
        case Sum():
            yield written
            yield from _sums(written.part)
        case Call("mul" | "neg", arguments):
            for part in arguments:
                yield from _sums(part)
        case Call(function, arguments):
            inside = next((each for part in arguments for each in _any_sums(part)), None)
            if inside is not None:
                what = "an addition" if function in _ADDED else function
                fail(
                    inside.column,
                    f"a sum inside of {what} is not supported; it must be a term or a factor of "
                    "one: compute it by a statement of its own",
                )


def _any_sums(written: Written) -> Iterator[Sum]:
    match written:
        case Sum():
            yield written
        case Call(_, arguments):
            for part in arguments:
                yield from _any_sums(part)


def _hidden_in(expression: Expression, index: str) -> Call[Expression] | None:
    """The innermost function that is not linear with all uses of an index in it, if there is
    one."""
    innermost = None
    while isinstance(expression, Call):
        if expression.function in FUNCTIONS:
            innermost = expression
        inside = [part for part in expression.arguments if _uses(part, index)]
        if len(inside) > 1:
            break
        (expression,) = inside
    return innermost


def _uses(expression: Expression, index: str) -> bool:
    return any(index in access.indices for access in accesses(expression))


def _refuse_hidden(
    term: Expression, hidden: dict[str, Call[Expression]], names: Collection[str]
) -> NoReturn:
    """Names both meanings and how each is written."""
    index, call = next(iter(hidden.items()))
    own = [each for each, around in hidden.items() if around is call]
    access = next(access for access in accesses(term) if index in access.indices)
    taken = {*names, *(each.tensor for each in accesses(term))}
    first, total = _summed_first(call, own, taken)
    after = _replaced(term, call, total)
    outside = [each for each in hidden if each not in own]
    fail(
        access.column,
        f"index {index} of {short(access)} is summed inside of "
        f"{call.function}, which is not linear: for a sum of {call.function} write "
        f"{short(_summed(term, hidden))}; for {call.function} of a sum compute "
        f"{short(' and '.join(first))} first, in a statement of its own, and write "
        f"{short(_summed(after, outside))} here",
    )


def _summed_first(
    call: Call[Expression], indices: Sequence[str], taken: Collection[str]
) -> tuple[list[str], Call[Expression]]:
    """Statements that sum a call's arguments over indices, and the call of their results, whose
    names are not ``taken``."""
    free = (name for number in count() if (name := f"T{number or ''}") not in taken)
    statements, arguments = list[str](), list[Expression]()
    for argument in call.arguments:
        if not any(_uses(argument, each) for each in indices):
            arguments.append(argument)
            continue
        used = dict.fromkeys(i for each in accesses(argument) for i in each.indices)
        total = Access(next(free), tuple(i for i in used if i not in indices))
        statements.append(f"{total}={text_of(argument)}")
        arguments.append(total)
    return statements, Call(call.function, tuple(arguments))


def _replaced(expression: Expression, old: Call[Expression], new: Call[Expression]) -> Expression:
    if expression is old:
        return new
    if isinstance(expression, Call):
        arguments = tuple(_replaced(part, old, new) for part in expression.arguments)
        return Call(expression.function, arguments)
    return expression


def _summed(expression: Expression, indices: Iterable[str]) -> str:
    written: Written = expression
    for index in indices:
        written = Sum(index, written)
    return text_of(written)

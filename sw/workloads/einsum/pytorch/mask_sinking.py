"""Masks go to where what they mask is computed: scores are computed where a mask has entries.

What is only taken as a factor of a pattern may be missing where that has no entry. So the pattern
becomes a factor of it, too, and so on back to its operands; where a factor is within the pattern
already, the pattern goes. All this leaves every bit: entries of patterns are 1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    Einsum,
    EinsumExpression,
    with_every_access,
)
from gnarl.sw.workloads.einsum.pure import factors
from gnarl.sw.workloads.einsum.pytorch.masked import product
from gnarl.sw.workloads.einsum.pytorch.views import Along
from gnarl.sw.workloads.tensor.expression import ADDITIVE, ZERO_AT_ZERO, Access, Call, Reduction


def with_masks_sunk(
    statements: Sequence[AnyStatement], patterns: Collection[str], results: Collection[str]
) -> list[AnyStatement]:
    """The statements, whose products with patterns are computed where these have entries.

    patterns
        tensors with entries of 1 alone.
    results
        tensors that must have all elements.
    """
    first = _patterns_first(statements, patterns)
    return _without_copies(_within(_sunk(first, patterns, results), patterns), results)


def _patterns_first(
    statements: Sequence[AnyStatement], patterns: Collection[str]
) -> list[AnyStatement]:
    """The statements, first those that make patterns."""
    needed = {*patterns}
    for each in reversed(statements):
        if each.name in needed:
            needed |= {access.tensor for access in each.operands}
    return [
        *(each for each in statements if each.name in needed),
        *(each for each in statements if each.name not in needed),
    ]


# Back to operands.


def _sunk(
    statements: Sequence[AnyStatement], patterns: Collection[str], results: Collection[str]
) -> list[AnyStatement]:
    """The statements with patterns as factors of what is only taken under them."""
    under: dict[str, set[Along]] = {}  # patterns that all takers so far have as factors
    kept: list[AnyStatement] = []
    for each in reversed(statements):
        if isinstance(each, Einsum) and each.name not in results:
            for along in sorted(under.get(each.name, ()), key=lambda along: along.tensor):
                each = _with_factor(each, along)
        kept.append(each)
        taken = _taken(each, patterns)
        for name, found in taken:
            under[name] = under[name] & found if name in under else found
    return kept[::-1]


def _with_factor(statement: Einsum, along: Along) -> Einsum:
    """The statement with a pattern as another factor; inside of its sum, if it is one."""
    indices = tuple(statement.result.indices[mode] for mode in along.modes)
    factor, whole = Access(along.tensor, indices), statement.expression
    if factor in factors(whole):
        return statement
    if isinstance(whole, Reduction) and whole.op == "sum":
        return replace(statement, expression=replace(whole, part=product([whole.part, factor])))
    return replace(statement, expression=product([whole, factor]))


def _taken(statement: AnyStatement, patterns: Collection[str]) -> Iterator[tuple[str, set[Along]]]:
    """Each tensor that a statement takes, with the patterns that are factors of it there."""
    if isinstance(statement, Einsum):
        yield from _taken_in(statement.expression, patterns, frozenset())
    else:
        yield from ((access.tensor, set()) for access in statement.operands)


def _taken_in(
    part: EinsumExpression, patterns: Collection[str], around: frozenset[Access]
) -> Iterator[tuple[str, set[Along]]]:
    match part:
        case Access(tensor, indices):
            yield (
                tensor,
                {
                    Along(each.tensor, tuple(map(indices.index, each.indices)))
                    for each in around
                    if {*each.indices} <= {*indices}
                },
            )
        case Call("mul", arguments):
            direct = [each for argument in arguments for each in _direct(argument)]
            own = {each for each in direct if isinstance(each, Access) and each.tensor in patterns}
            for argument in direct:
                yield from _taken_in(argument, patterns, around | own)
        case Call(_, arguments):
            for argument in arguments:
                yield from _taken_in(argument, patterns, around)
        case Reduction(_, _, inner):
            yield from _taken_in(inner, patterns, around)


def _direct(part: EinsumExpression) -> list[EinsumExpression]:
    """The factors of nested products."""
    match part:
        case Call("mul", arguments):
            return [each for argument in arguments for each in _direct(argument)]
    return [part]


# Factors that change nothing.


def _within(statements: Sequence[AnyStatement], patterns: Collection[str]) -> list[AnyStatement]:
    """The statements without patterns beside factors that lie within them."""
    known: dict[str, set[Along]] = {}
    kept: list[AnyStatement] = []
    for each in statements:
        if isinstance(each, Einsum):
            each = replace(each, expression=_lean(each.expression, known))
            taken = (access for access in each.operands if access.tensor in patterns)
            own = {access.tensor: {Along(access.tensor, _modes(access))} for access in taken}
            known[each.name] = _patterns_around(each, {**known, **own})
        kept.append(each)
    return kept


def _modes(access: Access) -> tuple[int, ...]:
    return tuple(range(len(access.indices)))


def _lean(part: EinsumExpression, known: Mapping[str, set[Along]]) -> EinsumExpression:
    match part:
        case Call("mul"):
            found = _direct(part)
            around = {each for one in found for each in _around(one, known)}
            kept = [each for each in found if each not in around]
            return part if len(kept) == len(found) else product(kept)
        case Reduction("sum", _, inner):
            return replace(part, part=_lean(inner, known))
    return part


def _around(part: EinsumExpression, known: Mapping[str, set[Along]]) -> set[Access]:
    """The patterns, at their indices, without an entry of which a part is missing.

    known
        those that tensors are within, by name.
    """
    match part:
        case Access(tensor, indices):
            return {
                Access(along.tensor, tuple(indices[mode] for mode in along.modes))
                for along in known.get(tensor, ())
            }
        case Call("mul", arguments):
            return set().union(*(_around(each, known) for each in arguments))
        case Call("div", (dividend, _)):
            return _around(dividend, known)
        case Call(function, (left, right)) if function in ADDITIVE:
            return _around(left, known) & _around(right, known)
        case Call(function, (argument,)) if function in ZERO_AT_ZERO:
            return _around(argument, known)
        case Reduction("sum", indices, inner):
            return {each for each in _around(inner, known) if not {*each.indices} & {*indices}}
    return set()


def _patterns_around(statement: Einsum, known: Mapping[str, set[Along]]) -> set[Along]:
    """The patterns that a statement's tensor lies within."""
    indices = statement.result.indices
    return {
        Along(each.tensor, tuple(map(indices.index, each.indices)))
        for each in _around(statement.expression, known)
    }


# Copies.


def _without_copies(
    statements: Sequence[AnyStatement], results: Collection[str]
) -> list[AnyStatement]:
    """The statements without those that only rename a computed tensor, which others take."""
    computed = {each.name for each in statements if isinstance(each, Einsum)}
    copies: dict[str, tuple[str, tuple[int, ...]]] = {}

    def original(access: Access) -> Access:
        if access.tensor not in copies:
            return access
        tensor, modes = copies[access.tensor]
        return replace(access, tensor=tensor, indices=tuple(access.indices[at] for at in modes))

    kept: list[AnyStatement] = []
    for each in statements:
        each = with_every_access(each, original)
        match each:
            case Einsum(result, Access(tensor, indices)) if (
                tensor in computed
                and each.name not in results
                and sorted(indices) == sorted(result.indices)
            ):
                copies[each.name] = tensor, tuple(map(result.indices.index, indices))
            case _:
                kept.append(each)
    return kept

"""What must be true of statements that move elements."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.sw.workloads.einsum.places import located
from gnarl.sw.workloads.einsum.program import AnyStatement
from gnarl.sw.workloads.einsum.rearrangement import (
    COMPARISONS,
    Concat,
    Coo,
    How,
    Kept,
    Pattern,
    Rearrangement,
    Reshape,
    Slice,
    Stored,
)
from gnarl.sw.workloads.tensor.columns import counted, fail
from gnarl.sw.workloads.tensor.expression import Access
from gnarl.sw.workloads.tensor.names import check_names


def check_rearrangement(statement: Rearrangement) -> None:
    """Raises ``NotationError`` for indices that do not say what goes where."""
    check_names(statement.result, statement.operands)
    match statement.how:
        case Reshape() as how:
            _require_one(statement)
            _check_reshape(statement, how)
        case Concat():
            _check_concat(statement)
        case Slice() as how:
            _require_one(statement)
            _check_slice(statement, how)
        case Pattern() as how:
            _require_one(statement)
            _check_pattern(statement, how)
        case Coo() as how:
            _check_coo(statement, how)
        case Stored() | Kept():
            _require_one(statement)
            _check_same(statement)


def check_inputs_of_hosts(statements: Sequence[AnyStatement]) -> None:
    """Raises ``WorkloadError`` where an operand that must be an input is computed, or is one of
    ``inputs_of_hosts`` and taken otherwise."""
    computed = {each.name for each in statements}
    by_kind = inputs_of_hosts(statements)
    for each in statements:
        how = each.how if isinstance(each, Rearrangement) else None
        with located(each.name, each.place):
            for place, access in enumerate(each.operands):
                taken = _kind_of_host(how, place)
                must_be_input = isinstance(how, Stored) or taken
                if must_be_input and access.tensor in computed:
                    fail(access.column, f"tensor {access.tensor} is computed: must be an input")
                kind = by_kind.get(access.tensor)
                if kind and taken != kind:
                    what = "lists coordinates" if kind == Coo.kind else "is a mask"
                    fail(
                        access.column,
                        f"tensor {access.tensor} {what}: only {kind} may take it",
                    )


def inputs_of_hosts(statements: Sequence[AnyStatement]) -> dict[str, str]:
    """By name, the kind of what takes inputs that the host alone can take: lists of coordinates,
    and masks of -∞. They are in no machine's format."""
    return {
        each.operands[0].tensor: kind
        for each in statements
        if isinstance(each, Rearrangement) and (kind := _kind_of_host(each.how, 0))
    }


def _kind_of_host(how: How | None, place: int) -> str:
    """The kind of what takes an operand at a place, if the host alone can take it; else empty."""
    return how.kind if isinstance(how, Coo | Kept) and not place else ""


def _require_one(statement: Rearrangement) -> None:
    if len(statement.operands) != 1:
        kind, number = statement.how.kind, counted(len(statement.operands), "tensor")
        fail(statement.result.column, f"{kind} is of {number}: must be of one")


def _check_reshape(statement: Rearrangement, how: Reshape) -> None:
    result = statement.result
    sized = [index for index, _ in how.sizes]
    for place, index in enumerate(sized):
        if index not in statement.made:
            fail(result.column, f"size of {index}: must be of an index that only {result} has")
        if index in sized[:place]:
            fail(result.column, f"size of {index}: is there already")
    left = [index for index in statement.made if index not in sized]
    if len(left) > 1:
        fail(
            result.column,
            f"sizes of {' and '.join(left)} are not known: write reshape[{left[0]}:N] with its "
            "size N, so that one follows",
        )


def _check_concat(statement: Rearrangement) -> None:
    result = statement.result
    if not statement.operands:
        fail(result.column, "concat is of no tensor: must be of one at least")
    if len(statement.made) != 1:
        fail(
            result.column,
            f"{result} has {_listed(statement.made)} of its own: must have one index that no "
            "operand has, along which they lie",
        )
    for operand in statement.operands:
        own = statement.own(operand)
        if len(own) > 1:
            fail(
                operand.column,
                f"{operand} has {_listed(own)} of its own: must have one, which lies along "
                f"{statement.made[0]}, or none",
            )
        _require_rest(statement, operand)


def _check_slice(statement: Rearrangement, how: Slice) -> None:
    result, (operand,) = statement.result, statement.operands
    if how.index not in operand.indices:
        fail(operand.column, f"index {how.index} is not in {operand}")
    if how.index in result.indices:
        fail(
            result.column,
            f"index {how.index} is one of {result}, where it has other coordinates: give it "
            "another name there",
        )
    if not (0 <= how.start <= how.stop and how.step >= 1):
        fail(
            operand.column,
            f"{how}: must begin at 0 or later, end not before it, and have a step of at least 1",
        )
    own = [index for index in statement.own(operand) if index != how.index]
    if own:
        fail(operand.column, f"index {own[0]} of {operand} is not in {result}: must be")
    if len(statement.made) > 1:
        fail(
            result.column,
            f"{result} has {_listed(statement.made)} of its own: must have one, for {how.index}",
        )
    if not statement.made and len(how.coordinates) != 1:
        fail(
            result.column,
            f"{result} has no index for {how.index}: {how} must be of one coordinate, and is of "
            f"{len(how.coordinates)}",
        )


def _check_coo(statement: Rearrangement, how: Coo) -> None:
    result, (listed, *values) = statement.result, statement.operands
    sized = tuple(index for index, _ in how.sizes)
    if sized != result.indices or not sized or statement.made != sized:
        fail(result.column, f"{how}: must have the size of each index of {result}, all its own")
    if len(listed.indices) != 2:
        fail(listed.column, f"{listed}: must have two indices: of coordinates, and of entries")
    if len(values) > 1 or any(each.indices != listed.indices[1:] for each in values):
        fail(
            values[-1].column,
            f"{values[-1]}: must be the second and last tensor, with index {listed.indices[1]}",
        )


def _check_same(statement: Rearrangement) -> None:
    result, (operand,) = statement.result, statement.operands
    if sorted(operand.indices) != sorted(result.indices):
        fail(operand.column, f"{operand}: must have the indices of {result}")


def _check_pattern(statement: Rearrangement, how: Pattern) -> None:
    result, (operand,) = statement.result, statement.operands
    if how.comparison not in COMPARISONS:
        fail(operand.column, f"{how}: must compare by one of {', '.join(COMPARISONS)}")
    if {*result.indices} != {*operand.indices}:
        fail(result.column, f"{result} and {operand} must have the same indices")


def _require_rest(statement: Rearrangement, operand: Access) -> None:
    """Requires that an operand has all indices of the result but those that only this has."""
    for index in statement.result.indices:
        if index not in operand.indices and index not in statement.made:
            fail(operand.column, f"{operand} lacks index {index} of {statement.result}")


def _listed(indices: tuple[str, ...]) -> str:
    return " and ".join(indices) or "no index"

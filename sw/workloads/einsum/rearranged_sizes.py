"""Sizes of indices where elements are moved."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gnarl.sw.workloads.einsum.rearrangement import (
    Concat,
    Pattern,
    Rearrangement,
    Reshape,
    Slice,
)
from gnarl.sw.workloads.tensor.columns import fail

_TOO_MANY = 2**63
"""Coordinates that hosts cannot count."""


def implied_sizes(statement: Rearrangement, sizes: Mapping[str, int]) -> dict[str, int]:
    """Sizes of indices that only the result has, as far as those that are known tell them."""
    match statement.how:
        case Reshape() as how:
            found = dict(how.sizes)
            own = statement.own(statement.operands[0])
            if all(index in sizes for index in own):
                count, rest = math.prod(sizes[index] for index in own), math.prod(found.values())
                if rest:  # of no elements nothing follows
                    found |= {i: count // rest for i in statement.made if i not in found}
            return found
        case Concat():
            lengths = _lengths(statement, sizes)
            return {} if lengths is None else {statement.made[0]: sum(lengths)}
        case Slice() as how:
            return dict.fromkeys(statement.made, len(how.coordinates))
        case Pattern():
            return {}


def check_sizes(statement: Rearrangement, sizes: Mapping[str, int]) -> None:
    """Raises ``NotationError`` naming the index where elements do not have places.

    ``sizes``: of all indices.
    """
    result, operand = statement.result, statement.operands[0]
    match statement.how:
        case Reshape() as how:
            for index, size in how.sizes:
                _require(statement, index, sizes[index], size)
            here = math.prod(sizes[index] for index in statement.own(operand))
            there = math.prod(sizes[index] for index in statement.made)
            if here != there:
                before, after = (
                    _listed(indices, sizes) for indices in (statement.own(operand), statement.made)
                )
                fail(
                    result.column,
                    f"{here} coordinates ({before}) become {there} ({after}): must be as many",
                )
            if here >= _TOO_MANY:
                fail(result.column, f"{here:,} coordinates become others: must be below 2**63")
        case Concat():
            lengths = _lengths(statement, sizes)
            assert lengths is not None
            _require(statement, statement.made[0], sizes[statement.made[0]], sum(lengths))
        case Slice() as how:
            if how.stop > sizes[how.index]:
                fail(
                    operand.column,
                    f"{how}: index {how.index} of {operand} has size {sizes[how.index]}: must end "
                    "there or before",
                )
            for index in statement.made:
                _require(statement, index, sizes[index], len(how.coordinates))


def _require(statement: Rearrangement, index: str, size: int, wanted: int) -> None:
    if size != wanted:
        fail(
            statement.result.column,
            f"index {index} of {statement.result} has size {size}: must be {wanted}",
        )


def _lengths(statement: Rearrangement, sizes: Mapping[str, int]) -> list[int] | None:
    """Of operands along the index of a concatenation; ``None`` where one is not known."""
    own = [statement.own(operand) for operand in statement.operands]
    if not all(index in sizes for each in own for index in each):
        return None
    return [sizes[each[0]] if each else 1 for each in own]


def _listed(indices: tuple[str, ...], sizes: Mapping[str, int]) -> str:
    """``2 of i, 3 of j``."""
    return ", ".join(f"{sizes[index]} of {index}" for index in indices) or "of no index"

"""Statements whose indices are called otherwise."""

from __future__ import annotations

import random
from dataclasses import replace

from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    Einsum,
    EinsumExpression,
)
from gnarl.sw.workloads.tensor.expression import Access, Call, Reduction


def with_names(statement: AnyStatement, rng: random.Random) -> AnyStatement:
    """The statement with its indices called otherwise, if it computes something."""
    if not isinstance(statement, Einsum):
        return statement
    names = dict(
        zip(statement.indices, rng.sample("abcijklmno", len(statement.indices)), strict=True)
    )

    def access(each: Access) -> Access:
        return replace(each, indices=tuple(names[index] for index in each.indices))

    def renamed(part: EinsumExpression) -> EinsumExpression:
        match part:
            case Access():
                return access(part)
            case Call(function, arguments):
                return Call(function, tuple(map(renamed, arguments)))
            case Reduction(op, indices, inner):
                return Reduction(op, tuple(names[index] for index in indices), renamed(inner))
        return part

    return replace(
        statement, result=access(statement.result), expression=renamed(statement.expression)
    )

"""Statements with implicit sums as Einsums, whose sums are written out."""

from __future__ import annotations

from gnarl.sw.workloads.einsum.program import Einsum, EinsumExpression, Reduction, free_indices
from gnarl.sw.workloads.tensor.expression import Call, Expression, Statement


def explicit(statement: Statement) -> Einsum:
    """The same as an Einsum: each term of the top sum is summed over its indices that the result
    lacks."""
    kept = statement.result.indices

    def summed(part: Expression) -> EinsumExpression:
        if isinstance(part, Call) and part.function in ("add", "sub", "neg"):
            return Call(part.function, tuple(map(summed, part.arguments)))
        over = tuple(index for index in free_indices(part) if index not in kept)
        return Reduction("sum", over, part) if over else part

    return Einsum(statement.result, summed(statement.expression), statement.order)

"""What a tensor statement means: an Einsum program of one statement, with its sums written out.

An index that the result lacks is summed over the whole term of the top sum that it is part of, one
index at a time, the innermost loop's first, and in ascending order of coordinates. See
``gnarl.sw.golden.einsum`` for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.sw.golden.einsum import Entries, Operands, entries, evaluate_statement
from gnarl.sw.golden.numbers import Numbers, Reals, Words
from gnarl.sw.workloads.einsum.explicit import explicit
from gnarl.sw.workloads.tensor.expression import Statement
from gnarl.sw.workloads.tensor.tensor import Tensor


def evaluate(
    statement: Statement,
    tensors: Mapping[str, Tensor],
    format: str,
    lanes: Mapping[str, int] = {},
    blocks: Mapping[str, int] = {},
) -> Entries:
    """The result bit for bit: coordinates, int64 [n, order], ascending, and words, uint32 [n].

    Missing entries are 0, and stored ones may be. ``tensors`` has the operands, whose sizes must
    agree, and the result where one of its indices is in no operand; ``lanes`` and ``blocks``
    are as of ``gnarl.sw.golden.einsum.evaluate``. Raises ``ValueError`` for a
    value that ``format`` cannot hold or a function that it lacks, ``CapacityError`` for more than
    ``DENSE_LIMIT`` points.
    """
    return _evaluate(statement, tensors, Words(format), lanes, blocks)


def reference(statement: Statement, tensors: Mapping[str, Tensor]) -> Entries:
    """Evaluates as ``evaluate`` does, with all numbers in float64 [n]."""
    with np.errstate(all="ignore"):
        return _evaluate(statement, tensors, Reals(), {}, {})


def _evaluate(
    statement: Statement,
    tensors: Mapping[str, Tensor],
    numbers: Numbers,
    lanes: Mapping[str, int],
    blocks: Mapping[str, int],
) -> Entries:
    sizes: dict[str, int] = {}
    for access in (*statement.operands, statement.result):
        if access.tensor in tensors:
            sizes |= zip(access.indices, tensors[access.tensor].shape, strict=True)
    operands = Operands(tensors, statement.formats, numbers)
    relation = evaluate_statement(explicit(statement), operands, sizes, numbers, lanes, blocks)
    return entries(relation, statement.result.indices)

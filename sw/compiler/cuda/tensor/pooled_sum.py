"""Sums of sparse matrices times dense ones, as one feature that is pooled.

The feature's table has the rows of all dense matrices, one below the other, and a bag the entries
of a row of all sparse ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.tensor.kernel_expression import KernelExpression
from gnarl.sw.compiler.cuda.tensor.patterns import PooledSum
from gnarl.sw.workloads.embedding.model import (
    INDEX_TYPES,
    MAXIMUM_BATCH,
    MAXIMUM_DIM,
    MAXIMUM_ROWS,
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from gnarl.sw.workloads.tensor.tensor import Tensor

_INDEX_TYPE = "int32"

_UNKNOWN = PoolingFactors(mean=16.0, std=16.0)
"""Entries in the rows of matrices that are not there when schedules are chosen."""


@dataclass(frozen=True)
class PooledSumProgram:
    """A pooled sum, and the program of its feature."""

    expression: KernelExpression
    pattern: PooledSum
    embedding: EmbeddingProgram


def pooled_model(expression: KernelExpression, pattern: PooledSum) -> EmbeddingModel:
    """The model of one feature, which has the result's name.

    Raises ``WorkloadError`` for sizes that are not known or not supported, and ``CapacityError``.
    """
    rows = dim = 0
    for table in pattern.tables:
        inner, *columns = expression.stored_indices(table)
        rows += expression.require_size(table, inner, MAXIMUM_ROWS)
        dim = expression.require_size(table, columns[0], MAXIMUM_DIM) if columns else 1
    if rows > MAXIMUM_ROWS:
        names = ", ".join(table.tensor for table in pattern.tables)
        raise CapacityError(
            f"tensors {names}: have {rows:,} rows: must be at most {MAXIMUM_ROWS:,} together"
        )
    name = expression.statement.result.tensor
    feature = Feature(
        name,
        rows,
        dim,
        table_type=expression.format,
        output_type=expression.format,
        index_type=_INDEX_TYPE,
        weighted=True,
        factors=_UNKNOWN,
    )
    return EmbeddingModel(name, (feature,))


def stacked_table(
    expression: KernelExpression, pattern: PooledSum, tensors: Mapping[str, Tensor]
) -> np.ndarray:
    """The feature's table [rows, dim]. All ``tensors`` have values of the format."""
    return np.concatenate(
        [expression.rows(table, tensors[table.tensor]) for table in pattern.tables]
    )


def bags(expression: KernelExpression, pattern: PooledSum, tensors: Mapping[str, Tensor]) -> Batch:
    """What the matrices look up: a sample for each of their rows, each term's entries in order.

    Raises ``CapacityError`` for more rows than a batch has samples, and for more entries than are
    counted. O(entries log entries + rows).
    """
    first = pattern.terms[0].matrix
    batch = tensors[first.tensor].shape[expression.statement.formats[first.tensor].modes[0]]
    if batch > MAXIMUM_BATCH:
        raise CapacityError(
            f"expression, column {first.column}: {first} has {batch:,} rows: must be at most "
            f"{MAXIMUM_BATCH:,}"
        )
    sizes = _table_rows(expression, pattern)
    names = [table.tensor for table in pattern.tables]
    begins = dict(zip(names, np.cumsum([0, *sizes[:-1]]), strict=True))
    samples, indices, weights = [], [], []
    for term in pattern.terms:
        matrix = tensors[term.matrix.tensor]
        row, inner = expression.coordinates(term.matrix, matrix).T
        samples.append(row)
        indices.append(inner + begins[term.table.tensor])
        weights.append(matrix.values)
    rows = np.concatenate(samples)
    type = INDEX_TYPES[_INDEX_TYPE]
    if len(rows) > np.iinfo(type).max:
        raise CapacityError(
            f"sparse matrices have {len(rows):,} entries: must be at most {np.iinfo(type).max:,}"
        )
    order = np.argsort(rows, kind="stable")
    offsets = np.searchsorted(rows[order], np.arange(batch + 1)).astype(type)
    looked_up = FeatureInputs(
        np.concatenate(indices)[order].astype(type),
        offsets,
        np.concatenate(weights)[order].astype(np.float32),
    )
    return Batch(batch, [looked_up])


def _table_rows(expression: KernelExpression, pattern: PooledSum) -> list[int]:
    return [expression.sizes[expression.stored_indices(table)[0]] for table in pattern.tables]

"""Sparse triangular systems: solves A x = b for a triangular matrix A.

Row i is x[i] = (b[i] - sum of A[i,j] * x[j]) * inv[i], where inv[i] = 1 / A[i,i] is computed when
values are bound. Numbers are the file's, from 1. Inputs are ``b[i]``, then ``L[i,j]`` of a lower
matrix or ``U[i,j]`` of an upper one (row by row, columns ascending, without the diagonal), then
``inv[i]``; outputs are ``x[1]`` to ``x[n]``.

The structure is the pattern of entries, zeros in the file included, and whether the diagonal is all
ones: then there are no ``inv``, and new values must have ones there too (unless ``unit`` says
otherwise).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.compressed_file import stem_of, suffix_of
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag, Op
from gnarl.sw.workloads.dag.triangular_matrix import (
    TriangularMatrix,
    line_place,
    parse_matrix,
    triangular,
)
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.made_up import MadeUp, random_values
from gnarl.sw.workloads.matrix_entries import COMMENT
from gnarl.sw.workloads.refusals import refuse_first, refuse_not_finite
from gnarl.sw.workloads.tensor.tensor_files import load_tensor
from gnarl.sw.workloads.text_file import read_text


@dataclass(frozen=True)
class TriangularSystem(DagWorkload):
    """A triangular solve with the matrix it was made from.

    unit
        whether the diagonal is all ones by structure, so that there are no ``inv``.
    """

    matrix: TriangularMatrix = field(kw_only=True)
    unit: bool = field(kw_only=True)

    def bind(self, rhs: np.ndarray, matrix: Any = None) -> np.ndarray:
        """Input values, float64 [n_inputs], for a right-hand side [n] and maybe new entries.

        ``matrix``: a SciPy sparse matrix (or array) of the same structure; by default the
        workload's own. Raises ``WorkloadError`` if the structure differs, if a value is NaN or
        infinite, and for a zero on the diagonal.
        """
        rhs = np.asarray(rhs, np.float64)
        own = self.matrix
        if rhs.shape != (own.size,):
            raise WorkloadError(
                f"{self.name}: right-hand side of shape {rhs.shape}: must be ({own.size},)"
            )
        refuse_not_finite(rhs, lambda at: f"{self.name}: b[{at + 1}]")
        value, diagonal = own.value, own.diagonal
        if matrix is not None:
            value, diagonal = _new_entries(own, matrix, self.unit, self.name)
        inverse = [] if self.unit else [1 / diagonal]
        return np.concatenate([rhs, value, *inverse])


def read_matrix(path: str | Path, seed: int = 0, unit: bool | None = None) -> TriangularSystem:
    """Reads a .mtx or .npz file; the right-hand side is random from ``seed``, in [-1, 1).

    ``unit``: whether reciprocals of the diagonal are left out, which must then be all ones; by
    default, where it is. Raises ``WorkloadError`` naming file and line. O(entries · log entries).
    """
    if suffix_of(path) == ".npz":
        matrix = triangular(load_tensor(path), str(path))
    else:
        matrix = parse_matrix(read_text(path, COMMENT), str(path))
    rhs = np.random.default_rng(seed).uniform(-1, 1, matrix.size)
    read = system(matrix, rhs, str(path), unit)
    return replace(read, made_up=right_hand_side(read.input_names.tolist(), seed))


def right_hand_side(input_names: Iterable[str], seed: int) -> MadeUp:
    """Made-up values for the inputs of a system that its file does not have."""
    return random_values((name for name in input_names if name.startswith("b[")), seed)


def system(
    matrix: TriangularMatrix, rhs: np.ndarray, source: str, unit: bool | None = None
) -> TriangularSystem:
    """The workload of a matrix and a right-hand side float64 [n]; rest as above. O(entries)."""
    unit = matrix.unit if unit is None else unit
    if unit:
        _require_ones(matrix.diagonal, lambda at: line_place(source, matrix.diagonal_line[at]))
    dag, lines = _dag(matrix, source, unit)
    workload = TriangularSystem(
        name=stem_of(source),
        dag=dag,
        inputs=np.zeros(len(dag.inputs)),
        source=source,
        lines=lines,
        matrix=matrix,
        unit=unit,
    )
    workload.inputs[:] = workload.bind(rhs)
    return workload


def _dag(matrix: TriangularMatrix, source: str, unit: bool) -> tuple[Dag, np.ndarray]:
    """The DAG, and the line of each of its nodes."""
    size, entries = matrix.size, len(matrix.row)
    letter = "U" if matrix.upper else "L"
    places = [
        f"[{i},{j}]"
        for i, j in zip((matrix.row + 1).tolist(), (matrix.column + 1).tolist(), strict=True)
    ]
    numbers = range(1, size + 1)

    builder = DagBuilder(source)
    b = builder.inputs([f"b[{i}]" for i in numbers])
    factor = builder.inputs([letter + place for place in places])
    lines = [matrix.diagonal_line, matrix.line]
    scaled = not unit
    if scaled:
        inverse = builder.inputs([f"inv[{i}]" for i in numbers])
        lines.append(matrix.diagonal_line)

    # For each row: its products, then the sum, then the scaled sum. A row without products needs
    # no sum, but the value of a row is always a node of its own, so that it can be named x[i].
    length = np.bincount(matrix.row, minlength=size)
    has_sum = (length > 0) | (not scaled)
    rows = np.arange(size)[::-1] if matrix.upper else np.arange(size)
    first = len(builder)
    width = length + has_sum + scaled
    end = np.empty(size, np.int64)
    end[rows] = np.cumsum(width[rows])
    x = end - 1
    total = x - scaled
    starts = np.cumsum(length) - length
    product = (end - width)[matrix.row] + np.arange(entries) - starts[matrix.row]

    count = int(width.sum())
    op = np.full(count, Op.MUL, np.uint8)
    op[total[has_sum]] = Op.ADD
    counts = np.full(count, 2)
    counts[total[has_sum]] = 1 + length[has_sum]
    offsets = np.cumsum(counts) - counts
    operands = np.empty(int(counts.sum()), np.int64)
    negative = np.zeros(len(operands), bool)
    operands[offsets[product]] = factor
    operands[offsets[product] + 1] = first + x[matrix.column]
    operands[offsets[total[has_sum]]] = b[has_sum]
    subtracted = offsets[total[matrix.row]] + 1 + product - (end - width)[matrix.row]
    operands[subtracted] = first + product
    negative[subtracted] = True
    if scaled:
        operands[offsets[x]] = np.where(has_sum, first + total, b)
        operands[offsets[x] + 1] = inverse

    names = np.empty(count, object)
    names[product] = [
        f"{letter}{place}*x[{j}]"
        for place, j in zip(places, (matrix.column + 1).tolist(), strict=True)
    ]
    if scaled:
        names[total[has_sum]] = [f"r[{i}]" for i in (np.flatnonzero(has_sum) + 1).tolist()]
    names[x] = [f"x[{i}]" for i in numbers]
    builder.operations(op, counts, operands, negative, names.tolist())
    for node in (first + x).tolist():
        builder.output(node)
    dag, _ = builder.build()

    line = np.empty(count, np.int64)
    line[product] = matrix.line
    line[total[has_sum]] = matrix.diagonal_line[has_sum]
    line[x] = matrix.diagonal_line
    return dag, np.concatenate([*lines, line])


def _new_entries(
    own: TriangularMatrix, matrix: Any, unit: bool, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Entries off the diagonal of a SciPy matrix, as in ``own``, and its diagonal."""
    rows = scipy.sparse.csr_array(matrix, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    entries = rows.tocoo()
    on = entries.row == entries.col
    if not (
        rows.shape == (own.size, own.size)
        and np.array_equal(entries.row[~on], own.row)
        and np.array_equal(entries.col[~on], own.column)
        and np.array_equal(entries.row[on], np.arange(own.size))
    ):
        raise WorkloadError(
            f"{name}: the new matrix ({rows.shape[0]} x {rows.shape[1]}, {len(on)} entries) must "
            f"have the pattern of the old one ({own.size} x {own.size}, "
            f"{own.size + len(own.row)} entries)"
        )
    value, diagonal = entries.data[~on], entries.data[on]
    refuse_not_finite(value, lambda at: f"{name}: entry ({own.row[at] + 1}, {own.column[at] + 1})")
    with np.errstate(divide="ignore", over="ignore"):
        usable = np.isfinite(diagonal) & np.isfinite(1 / diagonal)
    refuse_first(
        ~usable,
        lambda at: (
            f"{name}: entry ({at + 1}, {at + 1}) is {diagonal[at]}: must be finite and have "
            "a finite reciprocal"
        ),
    )
    if unit:
        _require_ones(diagonal, lambda at: name)
    return value, diagonal


def _require_ones(diagonal: np.ndarray, place: Callable[[int], str]) -> None:
    refuse_first(
        diagonal != 1,
        lambda at: (
            f"{place(at)}: entry ({at + 1}, {at + 1}) is {diagonal[at]}: must be 1, as the "
            "diagonal is all ones by structure"
        ),
    )

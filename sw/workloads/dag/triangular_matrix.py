"""Triangular matrices in files of sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.workloads.entries_order import sum_finite
from gnarl.sw.workloads.matrix_entries import Entries, read_entries, read_header
from gnarl.sw.workloads.refusals import first_true, refuse_first
from gnarl.sw.workloads.tensor.tensor import Tensor


@dataclass(frozen=True)
class TriangularMatrix:
    """A square triangular matrix with its whole diagonal.

    size
        rows, and columns.
    upper
        whether entries are above the diagonal; a diagonal matrix counts as lower.
    row, column
        int64 [m]: places of the entries off the diagonal, from 0, ascending by row, then column.
    value
        float64 [m]: their values, finite; a zero in the file is an entry.
    diagonal
        float64 [size]: finite, without zeros; their reciprocals are finite too.
    line, diagonal_line
        int64 [m] and [size]: lines of the file, 0 in files without.
    """

    size: int
    upper: bool
    row: np.ndarray
    column: np.ndarray
    value: np.ndarray
    diagonal: np.ndarray
    line: np.ndarray
    diagonal_line: np.ndarray

    @property
    def unit(self) -> bool:
        """Whether the diagonal is all ones."""
        return bool((self.diagonal == 1).all())


def parse_matrix(text: str, source: str) -> TriangularMatrix:
    """The matrix in the text of a Matrix Market file called ``source``.

    A diagonal matrix may be ``symmetric``, as SciPy writes it. Raises ``WorkloadError`` with file
    and line. O(entries · log entries).
    """
    lines = text_lines(text)
    header = read_header(lines, source, layouts=["coordinate"], fields=["real", "integer"])
    _require_square((header.rows, header.columns), f"{source}:{header.line}")
    if header.symmetry == "skew-symmetric":
        raise _not_general(header.symmetry, source)
    entries = read_entries(lines, header, source)
    if header.symmetry != "general" and (entries.row != entries.column).any():
        raise _not_general(header.symmetry, source)
    return _triangular(header.rows, entries, source)


def triangular(matrix: Tensor, source: str) -> TriangularMatrix:
    """The same of a matrix from a file ``source`` without lines. Raises ``WorkloadError``."""
    if matrix.order != 2:
        raise WorkloadError(f"{source}: order {matrix.order}: must be a matrix")
    _require_square(matrix.shape, source)
    row, column = matrix.coordinates.T
    entries = Entries(row, column, matrix.values, np.zeros(matrix.nnz, np.int64))
    return _triangular(matrix.shape[0], entries, source)


def _not_general(symmetry: str, source: str) -> WorkloadError:
    return WorkloadError(
        f"{source}:1: symmetry {symmetry!r}: a triangular matrix must be general, or diagonal"
    )


def _require_square(shape: tuple[int, ...], place: str) -> None:
    rows, columns = shape
    if rows != columns:
        raise WorkloadError(f"{place}: {rows} x {columns}: a triangular matrix must be square")
    if rows < 1:
        raise WorkloadError(
            f"{place}: {rows} x {columns}: a triangular matrix must have at least one row"
        )


def _triangular(size: int, entries: Entries, source: str) -> TriangularMatrix:
    """The matrix [size, size] of these entries, of which those of one place are added."""
    _require_one_side(entries, source)
    order, value = sum_finite(
        np.stack([entries.row, entries.column], axis=1),
        entries.value,
        source,
        lambda at: _place(entries, at),
    )
    row, column, line = entries.row[order], entries.column[order], entries.line[order]
    on = row == column
    positions = row[on]  # ascending and without repeats: without gaps, each is its own position
    gap = first_true(positions != np.arange(len(positions)))
    missing = len(positions) if gap is None else gap
    if missing < size:
        raise WorkloadError(
            f"{source}: row {missing + 1} has no entry on the diagonal: must have one, not zero"
        )
    diagonal, diagonal_line = value[on], line[on]
    with np.errstate(divide="ignore", over="ignore"):
        useless = ~np.isfinite(1 / diagonal)
    refuse_first(
        useless,
        lambda at: (
            f"{line_place(source, diagonal_line[at])}: the diagonal of row {at + 1} is "
            f"{diagonal[at]}: "
            + ("its reciprocal must be finite" if diagonal[at] else "must not be zero")
        ),
    )
    return TriangularMatrix(
        size=size,
        upper=bool((column > row).any()),
        row=row[~on],
        column=column[~on],
        value=value[~on],
        diagonal=diagonal,
        line=line[~on],
        diagonal_line=diagonal_line,
    )


def line_place(source: str, line: int) -> str:
    """The place ``file:line``, or the file where no line is known."""
    return f"{source}:{line}" if line else source


def _place(entries: Entries, at: int) -> str:
    """What texts call an entry."""
    text = f"entry ({entries.row[at] + 1}, {entries.column[at] + 1})"
    return f"{text} in line {entries.line[at]}" if entries.line[at] else text


def _require_one_side(entries: Entries, source: str) -> None:
    """Names the first entry on the other side of the diagonal than one before it."""
    row, column, line = entries.row, entries.column, entries.line
    side = np.sign(column - row)
    first = first_true(side != 0)
    at = None if first is None else first_true(side == -side[first])
    if first is None or at is None:
        return
    names = {1: "above", -1: "below"}
    raise WorkloadError(
        f"{line_place(source, line[at])}: not triangular: entry ({row[at] + 1}, {column[at] + 1}) "
        f"is {names[int(side[at])]} the diagonal, {_place(entries, first)} "
        f"{names[int(side[first])]} it"
    )

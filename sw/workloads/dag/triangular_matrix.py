"""Triangular matrices in Matrix Market's coordinate format."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hw.lib.errors import WorkloadError
from sw.workloads.matrix_entries import (
    read_entries,
    read_header,
    read_size,
)


@dataclass(frozen=True)
class TriangularMatrix:
    """A square triangular matrix with its whole diagonal.

    size
        rows, and columns.
    upper
        whether entries stand above the diagonal; a diagonal matrix counts as lower.
    row, column
        int64 [m]: places of the entries off the diagonal, from 0, ascending by row, then column.
    value
        float64 [m]: their values, finite; a zero in the file is an entry.
    diagonal
        float64 [size]: finite, without zeros; their reciprocals are finite too.
    line, diagonal_line
        int64 [m] and [size]: lines of the file.
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
    """The matrix in the text of a file called ``source``.

    Raises ``WorkloadError`` with file and line. O(entries · log entries).
    """
    lines = text.splitlines()
    header = read_header(lines, source, layouts=["coordinate"], fields=["real", "integer"])
    if header.symmetry != "general":
        raise WorkloadError(
            f"{source}:1: symmetry {header.symmetry!r}: a triangular matrix must be general"
        )
    size = read_size(lines, header, source)
    place = f"{source}:{size.line}"
    if size.rows != size.columns:
        raise WorkloadError(
            f"{place}: {size.rows} x {size.columns}: a triangular matrix must be square"
        )
    if size.rows < 1:
        raise WorkloadError(
            f"{place}: {size.rows} x {size.rows}: a triangular matrix must have at least one row"
        )
    entries = read_entries(lines, header, size, source)
    return _triangle(size.rows, entries.row, entries.column, entries.value, entries.line, source)


def _triangle(
    size: int,
    row: np.ndarray,
    column: np.ndarray,
    value: np.ndarray,
    line: np.ndarray,
    source: str,
) -> TriangularMatrix:
    _require_one_side(row, column, line, source)
    order = np.lexsort((line, column, row))
    row, column, value, line = row[order], column[order], value[order], line[order]
    repeats = (np.diff(row) == 0) & (np.diff(column) == 0)
    if repeats.any():
        at = int(np.argmax(repeats))
        raise WorkloadError(
            f"{source}:{line[at + 1]}: entry ({row[at] + 1}, {column[at] + 1}) is already given in "
            f"line {line[at]}"
        )
    on = row == column
    # Ascending and without repeats: the first row missing is the first that isn't its own number.
    given = row[on]
    if len(given) < size:
        ahead = np.flatnonzero(given != np.arange(len(given)))
        missing = int(ahead[0]) if len(ahead) else len(given)
        raise WorkloadError(
            f"{source}: row {missing + 1} has no entry on the diagonal: must have one, not zero"
        )
    diagonal, diagonal_line = value[on], line[on]
    with np.errstate(divide="ignore", over="ignore"):
        useless = ~np.isfinite(1 / diagonal)
    if useless.any():
        at = int(np.argmax(useless))
        right = "must not be zero" if diagonal[at] == 0 else "its reciprocal must be finite"
        raise WorkloadError(
            f"{source}:{diagonal_line[at]}: the diagonal of row {at + 1} is {diagonal[at]}: {right}"
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


def _require_one_side(row: np.ndarray, column: np.ndarray, line: np.ndarray, source: str) -> None:
    """Names the first entry that stands on the other side of the diagonal than one before it."""
    side = np.sign(column - row)
    strict = np.flatnonzero(side)
    if len(strict) == 0:
        return
    other = strict[side[strict] != side[strict[0]]]
    if len(other) == 0:
        return
    names = {1: "above", -1: "below"}
    at, first = int(other[0]), int(strict[0])
    raise WorkloadError(
        f"{source}:{line[at]}: not triangular: entry ({row[at] + 1}, {column[at] + 1}) is "
        f"{names[int(side[at])]} the diagonal, ({row[first] + 1}, {column[first] + 1}) in line "
        f"{line[first]} {names[int(side[first])]} it"
    )

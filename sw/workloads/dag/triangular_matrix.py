"""Triangular matrices in Matrix Market's coordinate format."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.workloads.matrix_entries import Entries, read_entries, read_header
from gnarl.sw.workloads.refusals import first_true, refuse_first


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
    lines = text_lines(text)
    header = read_header(lines, source, layouts=["coordinate"], fields=["real", "integer"])
    if header.symmetry != "general":
        raise WorkloadError(
            f"{source}:1: symmetry {header.symmetry!r}: a triangular matrix must be general"
        )
    size, place = header.rows, f"{source}:{header.line}: {header.rows} x {header.columns}"
    if size != header.columns:
        raise WorkloadError(f"{place}: a triangular matrix must be square")
    if size < 1:
        raise WorkloadError(f"{place}: a triangular matrix must have at least one row")
    entries = read_entries(lines, header, source)
    _require_one_side(entries, source)
    order = np.lexsort((entries.line, entries.column, entries.row))
    row, column, value, line = (
        array[order] for array in (entries.row, entries.column, entries.value, entries.line)
    )
    refuse_first(
        (np.diff(row) == 0) & (np.diff(column) == 0),
        lambda at: (
            f"{source}:{line[at + 1]}: entry ({row[at] + 1}, {column[at] + 1}) is already "
            f"given in line {line[at]}"
        ),
    )
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
            f"{source}:{diagonal_line[at]}: the diagonal of row {at + 1} is {diagonal[at]}: "
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
        f"{source}:{line[at]}: not triangular: entry ({row[at] + 1}, {column[at] + 1}) is "
        f"{names[int(side[at])]} the diagonal, ({row[first] + 1}, {column[first] + 1}) in line "
        f"{line[first]} {names[int(side[first])]} it"
    )

"""Triangular matrices in Matrix Market's coordinate format.

Source: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935. Read here and
not by SciPy because every error names a line.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hw.lib.errors import WorkloadError
from sw.compiler.frontend.text_file import real_number, whole_number

_FIELDS = ("real", "integer")


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
    lines = iter(enumerate(text.splitlines(), 1))
    _require_header(next(lines, (1, ""))[1], source)
    data = _data(lines)
    number, fields = next(data, (0, []))
    if not fields:
        raise WorkloadError(f"{source}: the file ends before the line 'ROWS COLUMNS ENTRIES'")
    place = f"{source}:{number}"
    if len(fields) != 3:
        raise WorkloadError(f"{place}: {len(fields)} fields: must be 'ROWS COLUMNS ENTRIES'")
    rows, columns, entries = (whole_number(field, place) for field in fields)
    if rows != columns:
        raise WorkloadError(f"{place}: {rows} x {columns}: a triangular matrix must be square")
    if entries < 0:
        raise WorkloadError(f"{place}: {entries} entries: must not be negative")
    if rows < 1:
        raise WorkloadError(
            f"{place}: {rows} x {rows}: a triangular matrix must have at least one row"
        )

    row, column, value, line = array("q"), array("q"), array("d"), array("q")
    for number, fields in data:
        place = f"{source}:{number}"
        if len(row) == entries:
            raise WorkloadError(f"{place}: more entries than the {entries} announced")
        if len(fields) != 3:
            raise WorkloadError(f"{place}: {len(fields)} fields: must be 'ROW COLUMN VALUE'")
        i, j = whole_number(fields[0], place), whole_number(fields[1], place)
        if not (1 <= i <= rows and 1 <= j <= rows):
            raise WorkloadError(f"{place}: entry ({i}, {j}): row and column must be 1 to {rows}")
        v = real_number(fields[2], place)
        if not math.isfinite(v):
            raise WorkloadError(f"{place}: entry ({i}, {j}) is {fields[2]}: must be finite")
        row.append(i - 1)
        column.append(j - 1)
        value.append(v)
        line.append(number)
    if len(row) < entries:
        raise WorkloadError(f"{source}: the file ends after {len(row)} of {entries} entries")
    return _triangle(
        rows,
        np.array(row, np.int64),
        np.array(column, np.int64),
        np.array(value, np.float64),
        np.array(line, np.int64),
        source,
    )


def _require_header(line: str, source: str) -> None:
    fields = line.lower().split()
    place = f"{source}:1"
    if len(fields) != 5 or fields[:2] != ["%%matrixmarket", "matrix"]:
        raise WorkloadError(
            f"{place}: the first line must be '%%MatrixMarket matrix coordinate real general'"
        )
    layout, values, symmetry = fields[2:]
    if layout != "coordinate":
        raise WorkloadError(f"{place}: format {layout!r}: must be coordinate")
    if values not in _FIELDS:
        raise WorkloadError(f"{place}: field {values!r}: must be {' or '.join(_FIELDS)}")
    if symmetry != "general":
        raise WorkloadError(f"{place}: symmetry {symmetry!r}: a triangular matrix must be general")


def _data(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of each line that is neither blank nor a comment."""
    for number, line in lines:
        fields = line.split()
        if fields and not fields[0].startswith("%"):
            yield number, fields


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
        f"{source}:{line[at]}: not triangular: entry ({row[at] + 1}, {column[at] + 1}) stands "
        f"{names[int(side[at])]} the diagonal, ({row[first] + 1}, {column[first] + 1}) in line "
        f"{line[first]} {names[int(side[first])]} it"
    )

"""Entries of Matrix Market files: real matrices of any layout and symmetry.

Source: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935. Not read by
SciPy, which takes ``3x`` for 3 and ``1 1.5`` for 0.5 at (1, 1), and crashes where a zero byte ends
the file; nor does it name all lines.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hw.lib.errors import WorkloadError
from sw.workloads.text_file import Kind, number_table, real_number, short, whole_number

_LAYOUTS = ("coordinate", "array")
_FIELDS = ("real", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


@dataclass(frozen=True)
class Header:
    """The first line, in lower case.

    layout
        ``coordinate``, or ``array`` for a dense matrix.
    field
        ``real``, ``integer``, or ``pattern``, where every entry is 1.
    symmetry
        ``general``; ``symmetric`` or ``skew-symmetric`` for a file with one triangle.
    """

    layout: str
    field: str
    symmetry: str


@dataclass(frozen=True)
class Size:
    """The line behind the comments; ``entries`` counts what the file lists."""

    rows: int
    columns: int
    entries: int
    line: int


@dataclass(frozen=True)
class Entries:
    """Entries in the file's order, those of both triangles.

    row, column
        int64 [m]: places, from 0.
    value
        float64 [m]: finite; zeros are entries, but not those of a dense matrix.
    line
        int64 [m]: lines of the file.
    """

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray
    line: np.ndarray


def read_header(
    lines: Sequence[str],
    source: str,
    layouts: Sequence[str] = _LAYOUTS,
    fields: Sequence[str] = _FIELDS,
) -> Header:
    """Reads the first line of the file ``source``, which must name one of each of these."""
    words = lines[0].lower().split() if lines else []
    place = f"{source}:1"
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise WorkloadError(
            f"{place}: the first line must be '%%MatrixMarket matrix coordinate real general'"
        )
    header = Header(*words[2:])
    if header.layout not in layouts:
        raise WorkloadError(f"{place}: format {header.layout!r}: must be {_one_of(layouts)}")
    if header.field not in fields:
        raise WorkloadError(f"{place}: field {header.field!r}: must be {_one_of(fields)}")
    if header.symmetry not in _SYMMETRIES:
        raise WorkloadError(
            f"{place}: symmetry {header.symmetry!r}: must be {_one_of(_SYMMETRIES)}"
        )
    if header.layout == "array" and header.field == "pattern":
        raise WorkloadError(f"{place}: field 'pattern': must be real or integer in an array")
    return header


def read_size(lines: Sequence[str], header: Header, source: str) -> Size:
    """Reads the line with the sizes, the first one behind the header and comments."""
    form = ["ROWS", "COLUMNS", "ENTRIES"][: 3 if header.layout == "coordinate" else 2]
    line, words = next(_data(lines, 1), (0, []))
    if not words:
        raise WorkloadError(f"{source}: the file ends before the line '{' '.join(form)}'")
    place = f"{source}:{line}"
    if len(words) != len(form):
        raise WorkloadError(f"{place}: {len(words)} fields: must be '{' '.join(form)}'")
    rows, columns, *rest = (whole_number(word, place) for word in words)
    if header.symmetry != "general" and rows != columns:
        raise WorkloadError(
            f"{place}: {rows} x {columns}: a {header.symmetry} matrix must be square"
        )
    if rest:
        if rest[0] < 0:
            raise WorkloadError(f"{place}: {rest[0]} entries: must not be negative")
        return Size(rows, columns, rest[0], line)
    listed = {
        "general": rows * columns,
        "symmetric": rows * (rows + 1) // 2,
        "skew-symmetric": rows * (rows - 1) // 2,
    }
    return Size(rows, columns, listed[header.symmetry], line)


def read_entries(lines: Sequence[str], header: Header, size: Size, source: str) -> Entries:
    """Reads the lines behind the sizes. ``WorkloadError`` with file and line. O(entries)."""
    if header.layout == "coordinate":
        entries = _coordinate_table(lines, header, size)
        entries = entries or _coordinate_entries(lines, header, size, source)
    else:
        entries = _array_table(lines, header, size) or _array_entries(lines, header, size, source)
    if header.symmetry == "general":
        return entries
    other = entries.row != entries.column
    sign = 1 if header.symmetry == "symmetric" else -1
    return Entries(
        np.concatenate([entries.row, entries.column[other]]),
        np.concatenate([entries.column, entries.row[other]]),
        np.concatenate([entries.value, sign * entries.value[other]]),
        np.concatenate([entries.line, entries.line[other]]),
    )


def _coordinate_table(lines: Sequence[str], header: Header, size: Size) -> Entries | None:
    """As ``_coordinate_entries``, at once; ``None`` for what is wrong, or has comments."""
    value_kind: list[Kind] = [] if header.field == "pattern" else [np.float64]
    table = number_table(lines[size.line :], [np.int64, np.int64, *value_kind])
    if table is None or len(table[0]) != size.entries:
        return None
    row, column = table[0] - 1, table[1] - 1
    value = table[2] if len(table) == 3 else np.ones(size.entries)
    wrong = (row < 0) | (row >= size.rows) | (column < 0) | (column >= size.columns)
    if header.symmetry == "skew-symmetric":
        wrong |= row == column
    if wrong.any() or not np.isfinite(value).all():
        return None
    return Entries(row, column, value, size.line + 1 + np.arange(size.entries))


def _array_table(lines: Sequence[str], header: Header, size: Size) -> Entries | None:
    """As ``_array_entries``, at once; ``None`` for what is wrong, or has comments."""
    table = number_table(lines[size.line :], [np.float64])
    if table is None or len(table[0]) != size.entries or not np.isfinite(table[0]).all():
        return None
    if header.symmetry == "general":
        column, row = np.divmod(np.arange(size.entries), size.rows)
    else:
        column, row = np.triu_indices(size.rows, header.symmetry == "skew-symmetric")
    at = np.flatnonzero(table[0])
    return Entries(row[at], column[at], table[0][at], size.line + 1 + at)


def _coordinate_entries(lines: Sequence[str], header: Header, size: Size, source: str) -> Entries:
    row, column, value, line = array("q"), array("q"), array("d"), array("q")
    form = ["ROW", "COLUMN", "VALUE"][: 2 if header.field == "pattern" else 3]
    for number, words in _data(lines, size.line):
        place = f"{source}:{number}"
        if len(row) == size.entries:
            raise WorkloadError(f"{place}: more entries than the {size.entries} announced")
        if len(words) != len(form):
            raise WorkloadError(f"{place}: {len(words)} fields: must be '{' '.join(form)}'")
        i, j = whole_number(words[0], place), whole_number(words[1], place)
        if not (1 <= i <= size.rows and 1 <= j <= size.columns):
            right = (
                f"row and column must be 1 to {size.rows}"
                if size.rows == size.columns
                else f"row must be 1 to {size.rows}, column 1 to {size.columns}"
            )
            raise WorkloadError(f"{place}: entry ({i}, {j}): {right}")
        if header.symmetry == "skew-symmetric" and i == j:
            raise WorkloadError(
                f"{place}: entry ({i}, {j}): a skew-symmetric matrix must have none on its diagonal"
            )
        row.append(i - 1)
        column.append(j - 1)
        value.append(_finite(words[2], i, j, place) if len(words) == 3 else 1.0)
        line.append(number)
    if len(row) < size.entries:
        raise WorkloadError(f"{source}: the file ends after {len(row)} of {size.entries} entries")
    return Entries(
        np.array(row, np.int64),
        np.array(column, np.int64),
        np.array(value, np.float64),
        np.array(line, np.int64),
    )


def _array_entries(lines: Sequence[str], header: Header, size: Size, source: str) -> Entries:
    """Column by column, from the diagonal (or below it) where there is a symmetry."""
    row, column, value, line = array("q"), array("q"), array("d"), array("q")
    first = {"general": None, "symmetric": 0, "skew-symmetric": 1}[header.symmetry]
    i, j = first or 0, 0
    count = 0
    for number, words in _data(lines, size.line):
        place = f"{source}:{number}"
        if count == size.entries:
            raise WorkloadError(f"{place}: more entries than the {size.entries} announced")
        if len(words) != 1:
            raise WorkloadError(f"{place}: {len(words)} fields: must be 'VALUE'")
        number_read = _finite(words[0], i + 1, j + 1, place)
        if number_read != 0:
            row.append(i)
            column.append(j)
            value.append(number_read)
            line.append(number)
        count += 1
        i += 1
        if i == size.rows:
            j += 1
            i = 0 if first is None else j + first
    if count < size.entries:
        raise WorkloadError(f"{source}: the file ends after {count} of {size.entries} entries")
    return Entries(
        np.array(row, np.int64),
        np.array(column, np.int64),
        np.array(value, np.float64),
        np.array(line, np.int64),
    )


def _data(lines: Sequence[str], first: int) -> Iterator[tuple[int, list[str]]]:
    """Number and words of each line that is neither blank nor a comment, after so many lines."""
    for number in range(first, len(lines)):
        words = lines[number].split()
        if words and not words[0].startswith("%"):
            yield number + 1, words


def _finite(text: str, row: int, column: int, place: str) -> float:
    value = real_number(text, place)
    if not math.isfinite(value):
        raise WorkloadError(f"{place}: entry ({row}, {column}) is {short(text)}: must be finite")
    return value


def _one_of(choices: Sequence[str]) -> str:
    *some, last = choices
    return f"{', '.join(some)} or {last}" if some else last

"""Entries of Matrix Market files: real matrices of any layout and symmetry.

Source: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935. Files also
have ``double`` for ``real``, a single ``%`` in their first line, and numbers with a point in
matrices of integers. Not read by SciPy, which takes ``3x`` for 3 and ``1 1.5`` for 0.5 at (1, 1),
and crashes where a zero byte ends the file; nor does it name all lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.hw.lib.text_lines import words_of
from gnarl.sw.workloads.refusals import first_true
from gnarl.sw.workloads.text_file import (
    Kind,
    comment_behind,
    read_table,
    require_whole,
    table_words,
    whole_number,
)

MARK = "%"
"""What comments begin with."""

COMMENT = comment_behind(MARK)
"""A regular expression of a line's comment."""

_BANNERS = ("%%matrixmarket", "%matrixmarket")
_LAYOUTS = ("coordinate", "array")
_FIELDS = ("real", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
_SYNONYMS = {"double": "real"}


@dataclass(frozen=True)
class Header:
    """The header before the entries.

    layout
        ``coordinate``, or ``array`` for a dense matrix.
    field
        ``real``, ``integer``, or ``pattern``, where every entry is 1.
    symmetry
        ``general``; ``symmetric`` or ``skew-symmetric`` for a file with one triangle.
    rows, columns, entries
        sizes, and how many entries the file lists.
    line
        that of the sizes.
    """

    layout: str
    field: str
    symmetry: str
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
    """Reads the first line of the file ``source``, and the one with the sizes behind comments.

    Raises ``WorkloadError`` with file and line, also for another layout or field than these.
    """
    layout, field, symmetry = read_kinds(lines, source, "matrix", [layouts, fields, _SYMMETRIES])
    form = "ROWS COLUMNS ENTRIES" if layout == "coordinate" else "ROWS COLUMNS"
    behind = enumerate((table_words(line, MARK) for line in lines[1:]), 2)
    number, words = next((at for at in behind if at[1]), (0, []))
    place = f"{source}:{number}"
    if not words:
        raise WorkloadError(f"{source}: the file ends before the line '{form}'")
    if len(words) != len(words_of(form)):
        raise WorkloadError(f"{place}: {len(words)} fields: must be '{form}'")
    rows, columns, *listed = (whole_number(word, place) for word in words)
    if symmetry != "general" and rows != columns:
        raise WorkloadError(f"{place}: {rows} x {columns}: a {symmetry} matrix must be square")
    if listed and listed[0] < 0:
        raise WorkloadError(f"{place}: {listed[0]} entries: must not be negative")
    in_array = {
        "general": rows * columns,
        "symmetric": rows * (rows + 1) // 2,
        "skew-symmetric": rows * (rows - 1) // 2,
    }
    count = listed[0] if listed else in_array[symmetry]
    return Header(layout, field, symmetry, rows, columns, count, number)


def read_kinds(
    lines: Sequence[str], source: str, object: str, choices: Sequence[Sequence[str]]
) -> tuple[str, str, str]:
    """Layout, field and symmetry, from the first line of the file ``source``.

    ``object``: ``matrix`` or ``tensor``, whose file it must be; ``choices``: what each of the three
    may be. Raises ``WorkloadError``.
    """
    place = f"{source}:1"
    words = words_of(lines[0].lower()) if lines else []
    if len(words) != 5 or words[0] not in _BANNERS or words[1] != object:
        raise WorkloadError(
            f"{place}: the first line must be '%%MatrixMarket {object} coordinate real general'"
        )
    kinds = [_SYNONYMS.get(word, word) for word in words[2:]]
    for name, word, known in zip(("format", "field", "symmetry"), kinds, choices, strict=True):
        if word not in known:
            *some, last = known
            right = f"{', '.join(some)} or {last}" if some else last
            raise WorkloadError(f"{place}: {name} {short(word)!r}: must be {right}")
    layout, field, symmetry = kinds
    if layout == "array" and field == "pattern":
        raise WorkloadError(f"{place}: field 'pattern': must be real or integer in an array")
    return layout, field, symmetry


def read_entries(lines: Sequence[str], header: Header, source: str) -> Entries:
    """Reads the lines behind the header. ``WorkloadError`` with file and line. O(entries)."""
    layout, symmetry = header.layout, header.symmetry
    rows, count = header.rows, header.entries
    kinds: list[Kind] = [np.int64, np.int64, np.float64]
    form = "'ROW COLUMN VALUE'"
    if layout == "array":
        kinds, form = kinds[2:], "'VALUE'"
    elif header.field == "pattern":
        kinds, form = kinds[:2], "'ROW COLUMN'"
    table, line = read_table(lines, header.line, kinds, source, MARK, form)
    if len(line) > count:
        place = f"{source}:{line[count]}"
        raise WorkloadError(f"{place}: more entries than the {count} announced")
    if len(line) < count:
        raise WorkloadError(f"{source}: the file ends after {len(line)} of {count} entries")

    if layout == "coordinate":
        row, column = table[0] - 1, table[1] - 1
    elif symmetry == "general":
        column, row = np.divmod(np.arange(count), rows)
    else:  # column by column, from the diagonal or below it
        column, row = np.triu_indices(rows, int(symmetry == "skew-symmetric"))
    value = np.ones(count) if header.field == "pattern" else table[-1]
    if header.field == "integer":
        require_whole(value, line, source)
    _check_places(row, column, line, header, source)
    if symmetry != "general":
        _refuse_both_triangles(row, column, line, symmetry, source)
    if layout == "array":
        kept = np.flatnonzero(value)
        row, column, value, line = row[kept], column[kept], value[kept], line[kept]
    if symmetry != "general":
        other = row != column
        mirrored = value[other] if symmetry == "symmetric" else -value[other]
        row, column = np.append(row, column[other]), np.append(column, row[other])
        value, line = np.append(value, mirrored), np.append(line, line[other])
    return Entries(row, column, value, line)


def _check_places(
    row: np.ndarray, column: np.ndarray, line: np.ndarray, header: Header, source: str
) -> None:
    """Refuses entries outside of the matrix, and those that its symmetry excludes."""
    rows, columns, symmetry = header.rows, header.columns, header.symmetry
    outside = (row < 0) | (row >= rows) | (column < 0) | (column >= columns)
    on_diagonal = (row == column) & (symmetry == "skew-symmetric")
    at = first_true(outside | on_diagonal)
    if at is None:
        return
    entry = f"{source}:{line[at]}: entry ({row[at] + 1}, {column[at] + 1})"
    if outside[at] and rows == columns:
        raise WorkloadError(f"{entry}: row and column must be 1 to {rows}")
    if outside[at]:
        raise WorkloadError(f"{entry}: row must be 1 to {rows}, column 1 to {columns}")
    raise WorkloadError(f"{entry}: a {symmetry} matrix must have none on its diagonal")


def _refuse_both_triangles(
    row: np.ndarray, column: np.ndarray, line: np.ndarray, symmetry: str, source: str
) -> None:
    """Refuses an entry of a symmetric matrix that is also given in the other triangle: to add the
    two, as entries of one place are, would double what the file's author meant."""
    far, near = np.maximum(row, column), np.minimum(row, column)
    order = np.lexsort((line, row < column, near, far))
    far, near, upper = far[order], near[order], (row < column)[order]
    same = (far[1:] == far[:-1]) & (near[1:] == near[:-1]) & (upper[1:] != upper[:-1])
    at = first_true(same)
    if at is None:
        return
    earlier, later = sorted([line[order[at]], line[order[at + 1]]])
    raise WorkloadError(
        f"{source}:{later}: entry ({far[at] + 1}, {near[at] + 1}) is in both triangles, as in line "
        f"{earlier}: a {symmetry} matrix must have one of them"
    )

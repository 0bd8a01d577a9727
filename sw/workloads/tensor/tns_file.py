"""FROSTT's text format of sparse tensors.

A line is an entry: its indices, from 1, then its value; comments begin with ``#``. The format knows
no shape; it is the largest index of each dimension, unless a comment ``# shape 40 60`` gives it,
which other programs skip. Files of other tools begin with lines of the order and of the sizes, or
(MLIR's extended FROSTT) with lines of the order and the number of entries, and of the sizes.

Sources: Smith et al., "FROSTT: The Formidable Repository of Open Sparse Tensors and Tools"; Li et
al., "HiParTI"; MLIR's documentation of its sparse tensor runtime.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.lib.text_lines import BLANKS, text_lines, words_of
from gnarl.sw.workloads.refusals import refuse_first
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.text_file import (
    Kind,
    comment_behind,
    read_table,
    table_words,
    whole_number,
)

MARK = "#"
"""What comments begin with."""

COMMENT = comment_behind(MARK)
"""A regular expression of a line's comment."""

_EXTENDED = re.compile("#[ \t]*extended FROSTT", re.IGNORECASE)
_SHAPE = re.compile(r"#[ \t]*shape((?:[ \t]+[0-9]+)*)[ \t]*")


def parse_tns(text: str, source: str) -> Tensor:
    """The tensor in the text of a file called ``source``; entries may be in any order.

    Raises ``WorkloadError`` with file and line. O(entries · log entries · order).
    """
    lines = text_lines(text)
    shape, shape_place = _shape(lines[: text.count("\n", 0, text.rfind(MARK) + 1) + 1], source)
    head = _head(lines, source)
    if head.shape is not None:
        if shape not in (None, head.shape):
            raise WorkloadError(f"{head.place}: another shape than in {shape_place}: must be one")
        shape, shape_place = head.shape, head.place
    kinds: list[Kind] = [*[np.int64] * head.order, np.float64]
    (*indices, values), line = read_table(lines, head.end, kinds, source, MARK, head.width)
    if head.entries not in (None, len(line)):
        raise WorkloadError(f"{source}: {len(line)} entries: must be {head.entries}, as it begins")
    coordinates = np.stack(indices, axis=1) - 1 if indices else np.zeros((len(line), 0), np.int64)
    below = coordinates.min(axis=1, initial=0) < 0
    refuse_first(
        below,
        lambda at: (
            f"{source}:{line[at]}: index {coordinates[at][coordinates[at] < 0][0] + 1}: must be at "
            "least 1"
        ),
    )
    if not len(line):
        if shape is None:
            raise WorkloadError(
                f"{source}: the file has no entries: must have at least one, or a comment "
                "'# shape SIZES'"
            )
        coordinates = np.zeros((0, len(shape)), np.int64)
    if shape is None:
        shape = tuple((coordinates.max(axis=0) + 1).tolist())
    _require_shape(coordinates, shape, line, source, shape_place)
    return Tensor.from_entries(
        shape,
        coordinates,
        values,
        source,
        lambda at: f"entry {_entry(coordinates[at])} in line {line[at]}",
    )


@dataclass(frozen=True)
class _Head:
    """What stands in front of the entries.

    order, width
        that of the tensor, and what an error says of the fields that a line must have.
    end
        how many lines there are.
    shape, place, entries
        what files of other tools state, where, and how many entries they announce.
    """

    order: int
    width: str
    end: int
    shape: tuple[int, ...] | None = None
    place: str = ""
    entries: int | None = None


def _head(lines: Sequence[str], source: str) -> _Head:
    rows = [*islice((at for at, line in enumerate(lines) if table_words(line, MARK)), 3)]
    words = [table_words(lines[at], MARK) for at in rows]
    if not _is_extended(words, lines):
        first = rows[0] if rows else len(lines)
        order = len(words[0]) - 1 if rows else 0
        return _Head(order, f"{order + 1}, as in line {first + 1}", first)
    place = f"{source}:{rows[1] + 1}"
    shape = tuple(whole_number(size, place) for size in words[1])
    if min(shape) < 0:
        raise WorkloadError(f"{place}: size {min(shape)}: must not be negative")
    entries = None
    if len(words[0]) > 1:
        entries = whole_number(words[0][1], f"{source}:{rows[0] + 1}")
    width = f"{len(shape) + 1}, as line {rows[1] + 1} has sizes"
    return _Head(len(shape), width, rows[1] + 1, shape, place, entries)


def _is_extended(head: Sequence[list[str]], lines: Sequence[str]) -> bool:
    """Whether the first lines, as words, are the order (and the number of entries), the sizes, and
    an entry, which entries alone cannot be: they all have as many fields.

    A file that says so in its first line may be without entries.
    """
    if len(head) < 2 or len(head[0]) > 2 or not re.fullmatch("[1-9][0-9]?", head[0][0]):
        return False
    order = int(head[0][0])
    widths = [len(words) for words in head[1:]]
    if widths != [order, order + 1][: len(widths)]:
        return False
    says_so = len(head[0]) == 2 and _EXTENDED.match(lines[0]) is not None
    return says_so or len({len(words) for words in head}) > 1


def format_tns(tensor: Tensor) -> str:
    """The text of a file with the tensor, its shape as a comment."""
    shape = " ".join(["# shape", *map(str, tensor.shape)])
    columns = [*(tensor.coordinates + 1).T.tolist(), tensor.values.tolist()]
    entries = zip(*(map(repr, column) for column in columns), strict=True)
    return "\n".join([shape, *map(" ".join, entries)]) + "\n"


def _shape(lines: Sequence[str], source: str) -> tuple[tuple[int, ...] | None, str]:
    """The shape in a comment, and its place; others must be the same."""
    shape, earlier = None, ""
    for number, line in enumerate(lines, 1):
        if "#" in line and (match := _SHAPE.fullmatch(line.strip(BLANKS))):
            place = f"{source}:{number}"
            stated = tuple(whole_number(size, place) for size in words_of(match[1]))
            if shape not in (None, stated):
                raise WorkloadError(f"{place}: another shape than in {earlier}: must be one")
            shape, earlier = stated, earlier or place
    return shape, earlier


def _require_shape(
    coordinates: np.ndarray, shape: tuple[int, ...], line: np.ndarray, source: str, place: str
) -> None:
    if coordinates.shape[1] != len(shape):
        raise WorkloadError(
            f"{place}: a shape of {len(shape)} sizes: must be {coordinates.shape[1]}, as entries "
            "have indices"
        )
    outside = coordinates >= np.array(shape, np.int64)
    if outside.any():
        entry, dimension = (int(at) for at in np.argwhere(outside)[0])
        raise WorkloadError(
            f"{source}:{line[entry]}: entry {_entry(coordinates[entry])}: index {dimension + 1} "
            f"must be at most {shape[dimension]}, the size in {place}"
        )


def _entry(coordinate: np.ndarray) -> tuple[int, ...]:
    return tuple((coordinate + 1).tolist())

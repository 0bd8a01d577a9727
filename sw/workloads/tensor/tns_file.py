"""FROSTT's text format of sparse tensors.

A line is an entry: its indices, from 1, then its value. Lines that start with ``#`` are comments.
The format knows no shape; it is the largest index of each dimension, unless a comment
``# shape 40 60`` gives it, which other programs skip.

Source: Smith et al., "FROSTT: The Formidable Repository of Open Sparse Tensors and Tools".
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Sequence

import numpy as np

from hw.lib.errors import WorkloadError
from sw.workloads.tensor.tensor import Tensor
from sw.workloads.text_file import number_table, real_number, short, whole_number

_Entries = tuple[np.ndarray, np.ndarray, np.ndarray]

_SHAPE = re.compile(r"#\s*shape((?:\s+[0-9]+)*)\s*")


def parse_tns(text: str, source: str) -> Tensor:
    """The tensor in the text of a file called ``source``; entries may stand in any order.

    Raises ``WorkloadError`` with file and line. O(entries · log entries · order).
    """
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if not _is_skipped(line)), len(lines))
    table = _table(lines, first)
    shape, shape_place = _shape(lines if table is None else lines[:first], source)
    coordinates, values, line = table or _entries(lines, first, source)
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
        lambda second, first: (
            f"{source}:{line[second]}: entry {_entry(coordinates[second])} is already given in "
            f"line {line[first]}"
        ),
    )


def format_tns(tensor: Tensor) -> str:
    """The text of a file with the tensor, its shape as a comment."""
    lines = [" ".join(["# shape", *map(str, tensor.shape)])]
    for indices, value in zip(
        (tensor.coordinates + 1).tolist(), tensor.values.tolist(), strict=True
    ):
        lines.append(" ".join(map(repr, [*indices, value])))
    return "\n".join(lines) + "\n"


def _is_skipped(line: str) -> bool:
    text = line.strip()
    return not text or text.startswith("#")


def _shape(lines: Sequence[str], source: str) -> tuple[tuple[int, ...] | None, str]:
    """The first shape in a comment, and its place."""
    for number, line in enumerate(lines, 1):
        if match := _SHAPE.fullmatch(line.strip()):
            place = f"{source}:{number}"
            return tuple(whole_number(size, place) for size in match[1].split()), place
    return None, ""


def _table(lines: Sequence[str], first: int) -> _Entries | None:
    """As ``_entries``, at once; ``None`` for what is wrong, or has comments behind the first."""
    order = len(lines[first].split()) - 1 if first < len(lines) else 0
    table = number_table(lines[first:], [np.int64] * order + [np.float64])
    if table is None:
        return None
    values = table.pop()
    coordinates = np.column_stack([np.zeros((len(values), 0), np.int64), *table]) - 1
    if (coordinates < 0).any() or not np.isfinite(values).all():
        return None
    return coordinates, values, first + 1 + np.arange(len(values))


def _entries(lines: Sequence[str], first: int, source: str) -> _Entries:
    """Coordinates, values and lines of the entries, from the ``first`` one on."""
    indices, values, line = array("q"), array("d"), array("q")
    width = len(lines[first].split()) if first < len(lines) else 1
    for number, content in enumerate(lines[first:], first + 1):
        if _is_skipped(content):
            continue
        words, place = content.split(), f"{source}:{number}"
        if len(words) != width:
            raise WorkloadError(
                f"{place}: {len(words)} fields: must be {width}, as in line {first + 1}"
            )
        for word in words[:-1]:
            index = whole_number(word, place)
            if index < 1:
                raise WorkloadError(f"{place}: index {index}: must be at least 1")
            indices.append(index - 1)
        value = real_number(words[-1], place)
        if not math.isfinite(value):
            raise WorkloadError(f"{place}: value {short(words[-1])}: must be finite")
        values.append(value)
        line.append(number)
    coordinates = np.array(indices, np.int64).reshape(len(line), width - 1)
    return coordinates, np.array(values, np.float64), np.array(line, np.int64)


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

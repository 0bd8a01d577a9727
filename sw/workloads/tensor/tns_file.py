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

import numpy as np

from hw.lib.errors import WorkloadError
from sw.workloads.tensor.tensor import Tensor
from sw.workloads.text_file import real_number, short, whole_number

_SHAPE = re.compile(r"#\s*shape((?:\s+[0-9]+)*)\s*")


def parse_tns(text: str, source: str) -> Tensor:
    """The tensor in the text of a file called ``source``; entries may stand in any order.

    Raises ``WorkloadError`` with file and line. O(entries · log entries · order).
    """
    shape, shape_place = None, ""
    words_of_first, first_line = 0, 0
    indices, values, line = array("q"), array("d"), array("q")
    for number, content in enumerate(text.split("\n"), 1):
        words = content.split()
        if not words:
            continue
        place = f"{source}:{number}"
        if words[0].startswith("#"):
            match = _SHAPE.fullmatch(content.strip())
            if match and shape is None:
                shape = tuple(whole_number(size, place) for size in match[1].split())
                shape_place = place
            continue
        if not line:
            words_of_first, first_line = len(words), number
        elif len(words) != words_of_first:
            raise WorkloadError(
                f"{place}: {len(words)} fields: must be {words_of_first}, as in line {first_line}"
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
    if not line:
        if shape is None:
            raise WorkloadError(
                f"{source}: the file has no entries: must have at least one, or a comment "
                "'# shape SIZES'"
            )
        words_of_first = len(shape) + 1
    order = words_of_first - 1
    coordinates = np.array(indices, np.int64).reshape(len(line), order)
    if shape is None:
        shape = tuple((coordinates.max(axis=0) + 1).tolist())
    _require_shape(coordinates, shape, np.array(line, np.int64), source, shape_place)
    return Tensor.from_entries(
        shape,
        coordinates,
        np.array(values, np.float64),
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


def _require_shape(
    coordinates: np.ndarray, shape: tuple[int, ...], line: np.ndarray, source: str, place: str
) -> None:
    if coordinates.shape[1] != len(shape):
        raise WorkloadError(
            f"{place}: a shape of {len(shape)} sizes: must be {coordinates.shape[1]}, as entries "
            "have indices"
        )
    if 0 in shape:
        raise WorkloadError(f"{place}: size 0: must be at least 1")
    outside = coordinates >= np.array(shape, np.int64)
    if outside.any():
        entry, dimension = (int(at) for at in np.argwhere(outside)[0])
        raise WorkloadError(
            f"{source}:{line[entry]}: entry {_entry(coordinates[entry])}: index {dimension + 1} "
            f"must be at most {shape[dimension]}, the size in {place}"
        )


def _entry(coordinate: np.ndarray) -> tuple[int, ...]:
    return tuple((coordinate + 1).tolist())

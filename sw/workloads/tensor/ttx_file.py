"""Tensors of any order in Matrix Market's manner, as ``.ttx`` files have them.

Behind the first line, ``%%MatrixMarket tensor coordinate real general``, and comments comes one
with the sizes and the number of entries, then a line an entry: its indices, from 1, and its value.

Source: TACO's documentation of file formats.
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.workloads.matrix_entries import MARK, read_kinds
from gnarl.sw.workloads.refusals import refuse_first
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.text_file import Kind, read_table, require_whole, table_words, whole_number

_CHOICES = (("coordinate",), ("real", "integer", "pattern"), ("general",))


def parse_ttx(text: str, source: str) -> Tensor:
    """The tensor in the text of a file called ``source``; entries may be in any order.

    Raises ``WorkloadError`` with file and line. O(entries · log entries · order).
    """
    lines = text_lines(text)
    _, field, _ = read_kinds(lines, source, "tensor", _CHOICES)
    at = next((at for at, line in enumerate(lines) if table_words(line, MARK)), None)
    if at is None:
        raise WorkloadError(f"{source}: the file ends before the line 'SIZES ENTRIES'")
    place = f"{source}:{at + 1}"
    *sizes, count = (whole_number(word, place) for word in table_words(lines[at], MARK))
    if min([count, *sizes]) < 0:
        raise WorkloadError(f"{place}: {min([count, *sizes])}: must not be negative")
    kinds: list[Kind] = [*[np.int64] * len(sizes), *[np.float64] * (field != "pattern")]
    form = " ".join(["'INDEX'"] * len(sizes) + ["'VALUE'"] * (field != "pattern"))
    columns, line = read_table(lines, at + 1, kinds, source, MARK, form)
    if len(line) != count:
        raise WorkloadError(f"{source}: {len(line)} entries: must be {count}, as in line {at + 1}")
    coordinates = (
        np.stack(columns[: len(sizes)], axis=1) - 1 if sizes else np.zeros((count, 0), int)
    )
    outside = (coordinates < 0) | (coordinates >= np.array(sizes, np.int64))
    refuse_first(
        np.any(outside, axis=1),
        lambda at: (
            f"{source}:{line[at]}: entry {_entry(coordinates[at])}: indices must be from 1 to "
            f"{', '.join(map(str, sizes))}"
        ),
    )
    values = np.ones(count) if field == "pattern" else columns[-1]
    if field == "integer":
        require_whole(values, line, source)
    return Tensor.from_entries(
        tuple(sizes),
        coordinates,
        values,
        source,
        lambda at: f"entry {_entry(coordinates[at])} in line {line[at]}",
    )


def _entry(coordinate: np.ndarray) -> tuple[int, ...]:
    return tuple((coordinate + 1).tolist())

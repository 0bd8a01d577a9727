"""How host and device lay out what they share. Mirrors structs of ``include/gnarl/*.cuh``; the
generated source checks that both agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sw.workloads.embedding.model import EmbeddingModel

FEATURE_ARGUMENTS = np.dtype(
    [
        ("table", np.uint64),
        ("indices", np.uint64),
        ("offsets", np.uint64),
        ("weights", np.uint64),
        ("output", np.uint64),
        ("workspace", np.uint64),
        ("error", np.uint64),
        ("rows", np.int64),
        ("values", np.int64),
        ("batch", np.int32),
        ("output_stride", np.int32),
        ("feature", np.int32),
        ("reserved", np.int32),
    ]
)
ERROR_RECORD = np.dtype(
    [("state", np.int32), ("feature", np.int32), ("position", np.int64), ("index", np.int64)]
)
TASK = np.dtype([("feature", np.int32), ("block", np.int32)])
BLOCK_COUNT = np.dtype(
    [("per_value", np.int32), ("numerator", np.int32), ("denominator", np.int32)]
)
BLOCK_TIME = np.dtype([("begin", np.uint64), ("end", np.uint64)])

_STRUCTS = {
    "FeatureArguments": FEATURE_ARGUMENTS,
    "ErrorRecord": ERROR_RECORD,
    "Task": TASK,
    "BlockCount": BLOCK_COUNT,
    "BlockTime": BLOCK_TIME,
}

_AND = " &&\n              "
"""Between conditions, each on a line of its own."""


def layout_checks() -> Iterator[str]:
    """C++ lines that refuse to compile where a struct differs from its layout here."""
    for name, layout in _STRUCTS.items():
        struct = f"gnarl::{name}"
        conditions = [f"sizeof({struct}) == {layout.itemsize}"]
        for field in layout.names or ():
            offset = layout.fields[field][1]  # type: ignore[index]
            conditions.append(f"GNARL_OFFSET({struct}, {field}) == {offset}")
        yield f"static_assert({_AND.join(conditions)},"
        yield f'              "host and device disagree on {name}");'


@dataclass(frozen=True)
class OutputLayout:
    """Where features' outputs are: a buffer for each output type, features side by side.

    types
        for each feature the name of its output type.
    columns
        for each feature the first of its ``dim`` columns in its type's buffer.
    widths
        columns of each type's buffer, by type; ``buffer[batch, width]``.
    """

    types: tuple[str, ...]
    columns: tuple[int, ...]
    widths: dict[str, int]


def output_layout(model: EmbeddingModel) -> OutputLayout:
    widths: dict[str, int] = {}
    columns = []
    for feature in model.features:
        column = widths.get(feature.output_type, 0)
        columns.append(column)
        widths[feature.output_type] = column + feature.dim
    types = tuple(feature.output_type for feature in model.features)
    return OutputLayout(types, tuple(columns), widths)

"""How host and device lay out what they share. Mirrors structs of ``include/gnarl/*.cuh``; the
generated source checks that both agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.sw.workloads.embedding.model import TABLE_TYPES, EmbeddingModel

FEATURE_CONSTANTS = np.dtype(
    [
        ("rows", np.int32),
        ("output", np.int32),
        ("output_stride", np.int32),
        ("code", np.uint16),
        ("buffer", np.uint16),
    ]
)
DEMAND = np.dtype(
    [
        ("per_value", np.int32),
        ("numerator", np.int32),
        ("denominator", np.int32),
        ("workspace_per_value", np.int32),
        ("workspace_units", np.int32),
        ("workspace_bytes", np.int32),
    ]
)
ERROR_RECORD = np.dtype(
    [("state", np.int32), ("feature", np.int32), ("position", np.int64), ("index", np.int64)]
)
TASK = np.dtype([("feature", np.int32), ("block", np.int32)])
BLOCK_COUNT = np.dtype(
    [("per_value", np.int32), ("numerator", np.int32), ("denominator", np.int32)]
)
"""The part of a ``DEMAND`` that the host maps threads by."""
SHARE = np.dtype([("workspace", np.int64), ("blocks", np.int32), ("reserved", np.int32)])
QUEUE_STATE = np.dtype(
    [("count", np.int32), ("per_queue", np.int32), ("ended", np.int32), ("reserved", np.int32)]
)
BLOCK_TIME = np.dtype([("begin", np.uint64), ("end", np.uint64)])
WARP_FEATURE = np.dtype(
    [
        ("feature", np.int32),
        ("rows", np.int32),
        ("row_bytes", np.int32),
        ("output", np.int32),
        ("output_stride", np.int32),
        ("dim", np.uint16),
        ("scale", np.uint16),
        ("lanes", np.uint8),
        ("rows_aside", np.uint8),
        ("buffer", np.uint8),
        ("output_type", np.uint8),
        ("is_mean", np.uint8),
        ("reserved", np.uint8),
        ("more_reserved", np.uint16),
    ]
)
TASK_CLASS = np.dtype(
    [
        ("begin", np.int32),
        ("first", np.int32),
        ("of_feature", np.int32),
        ("reciprocal", np.uint32),
        ("partials", np.uint32),
        ("counters", np.int32),
        ("code", np.uint16),
        ("samples", np.uint16),
        ("pieces", np.uint8),
        ("rounds", np.uint8),
        ("slices", np.uint8),
        ("spread", np.uint8),
    ]
)
TASK_PLAN_HEAD = np.dtype(
    [("tasks", np.int32), ("dealt", np.int32), ("run", np.int32), ("wrap", np.uint32)]
)
"""What a ``TaskPlan`` has before its classes."""

BLOCK_STRUCTS = {
    "FeatureConstants": FEATURE_CONSTANTS,
    "Demand": DEMAND,
    "ErrorRecord": ERROR_RECORD,
    "Task": TASK,
    "Share": SHARE,
    "QueueState": QUEUE_STATE,
    "BlockTime": BLOCK_TIME,
}
WARP_STRUCTS = {
    "WarpFeature": WARP_FEATURE,
    "TaskClass": TASK_CLASS,
    "ErrorRecord": ERROR_RECORD,
    "BlockTime": BLOCK_TIME,
}
"""Structs of kernels whose workers are blocks, or warps, by name."""

_AND = " &&\n              "
"""Between conditions, each on a line of its own."""


def layout_checks(structs: Mapping[str, np.dtype]) -> Iterator[str]:
    """C++ lines that refuse to compile where a struct differs from its layout here."""
    for name, layout in structs.items():
        struct = f"gnarl::{name}"
        conditions = [f"sizeof({struct}) == {layout.itemsize}"]
        for field in layout.names or ():
            offset = layout.fields[field][1]  # type: ignore[index]
            conditions.append(f"GNARL_OFFSET({struct}, {field}) == {offset}")
        yield f"static_assert({_AND.join(conditions)},"
        yield f'              "host and device disagree on {name}");'


SHARED_ALIGNMENT = 16
_SLOT_BYTES = 16
"""Bytes of a ``TaskSlot`` behind what codes have in shared memory."""


def block_shared_bytes(codes: int) -> int:
    """Shared memory of a block whose codes have so many bytes."""
    return -(-codes // SHARED_ALIGNMENT) * SHARED_ALIGNMENT + _SLOT_BYTES


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


def feature_constants(model: EmbeddingModel, code_of_feature: Sequence[int]) -> np.ndarray:
    """``FEATURE_CONSTANTS`` [features]."""
    layout = output_layout(model)
    types = list(layout.widths)
    constants = np.zeros(len(model.features), FEATURE_CONSTANTS)
    constants["rows"] = [feature.rows for feature in model.features]
    constants["output"] = np.array(layout.columns) * [
        TABLE_TYPES[type].itemsize for type in layout.types
    ]
    constants["output_stride"] = [layout.widths[type] for type in layout.types]
    constants["code"] = code_of_feature
    constants["buffer"] = [types.index(type) for type in layout.types]
    return constants

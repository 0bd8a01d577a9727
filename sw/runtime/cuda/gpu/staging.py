"""All that a launch reads in one buffer, so that one copy brings it to the device.

The buffer has sections, one after the other: the error record, arguments, indices and offsets of
all features with the same index type, weights; last the thread mapping, which may as well be made
on the device: tasks, and blocks of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sw.compiler.cuda.layouts import ERROR_RECORD, FEATURE_ARGUMENTS, TASK
from sw.compiler.cuda.program import EmbeddingProgram
from sw.runtime.cuda.memory_layout import aligned
from sw.runtime.cuda.task_map import TaskMap
from sw.workloads.embedding.model import INDEX_TYPES, Batch


@dataclass(frozen=True)
class Section:
    """Arrays of one type side by side, from byte ``at`` on."""

    at: int
    dtype: np.dtype
    arrays: Sequence[np.ndarray]


@dataclass(frozen=True)
class Staging:
    """Where in the buffer everything is; bytes from its begin.

    error, arguments
        of sections.
    indices, offsets, weights
        int64 [features], of each feature's; weights are -1 where a feature has none.
    inputs
        sections of indices, offsets and weights.
    tasks, feature_blocks
        of the last sections.
    size
        of the buffer.
    """

    error: int
    arguments: int
    indices: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray
    inputs: Sequence[Section]
    tasks: int
    feature_blocks: int
    size: int

    def addresses(self, base: int) -> dict[str, Any]:
        """Arguments of ``feature_arguments`` that are in the buffer, which is at ``base``."""
        return {
            "error": base + self.error,
            "indices": base + self.indices,
            "offsets": base + self.offsets,
            "weights": np.where(self.weights < 0, 0, base + self.weights),
        }


def lay_out(program: EmbeddingProgram, batch: Batch, blocks: int) -> Staging:
    """For a launch of so many blocks. The batch is one that ``check_batch`` accepts."""
    features = program.model.features
    error = 0
    arguments = aligned(error + ERROR_RECORD.itemsize)
    size = aligned(arguments + len(features) * FEATURE_ARGUMENTS.itemsize)
    indices, offsets, weights = np.full((3, len(features)), -1, np.int64)
    sections = []

    def section(places: np.ndarray, dtype: np.dtype, arrays: dict[int, np.ndarray]) -> None:
        nonlocal size
        if arrays:
            sizes = np.array([len(array) for array in arrays.values()]) * dtype.itemsize
            ends = np.cumsum(sizes)
            places[list(arrays)] = size + ends - sizes
            sections.append(Section(size, dtype, list(arrays.values())))
            size = aligned(size + int(ends[-1]))

    for name, dtype in INDEX_TYPES.items():
        members = {
            at: inputs
            for at, (feature, inputs) in enumerate(zip(features, batch.features, strict=True))
            if feature.index_type == name
        }
        section(indices, dtype, {at: inputs.indices for at, inputs in members.items()})
        section(offsets, dtype, {at: inputs.offsets for at, inputs in members.items()})
    given = {
        at: inputs.weights for at, inputs in enumerate(batch.features) if inputs.weights is not None
    }
    section(weights, np.dtype(np.float32), given)
    tasks = size
    feature_blocks = aligned(tasks + blocks * TASK.itemsize)
    size = feature_blocks + len(features) * np.dtype(np.int32).itemsize
    return Staging(
        error, arguments, indices, offsets, weights, sections, tasks, feature_blocks, size
    )


def pack(
    staging: Staging, arguments: np.ndarray, mapping: TaskMap | None, buffer: np.ndarray
) -> None:
    """Fills ``buffer``, uint8 [at least staging.size]; ``arguments``: of ``feature_arguments``.

    Without a mapping what is behind ``staging.tasks`` is left as it was.
    """
    pieces = [(staging.error, np.zeros(1, ERROR_RECORD)), (staging.arguments, arguments)]
    if mapping is not None:
        pieces.append((staging.tasks, mapping.tasks))
        pieces.append((staging.feature_blocks, mapping.feature_blocks))
    for at, array in pieces:
        np.ndarray(array.shape, array.dtype, buffer=buffer.data, offset=at)[...] = array
    for section in staging.inputs:
        count = sum(map(len, section.arrays))
        place = np.ndarray(count, section.dtype, buffer=buffer.data, offset=section.at)
        np.concatenate(section.arrays, out=place)

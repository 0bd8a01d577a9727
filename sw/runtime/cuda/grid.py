"""The grid of a launch, by the name of its thread mapping."""

from __future__ import annotations

import numpy as np

from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.task_plan import TaskLayout, TaskPlan, task_features
from gnarl.sw.runtime.cuda.task_map import TaskMap, arrange, count_blocks, map_tasks, static_blocks
from gnarl.sw.workloads.embedding.data import past_batches
from gnarl.sw.workloads.embedding.model import Batch

_HISTORY = 16
"""Past batches that static mappings go by."""


def map_batch(program: EmbeddingProgram, batch: Batch, mapping: str) -> TaskMap:
    """Maps a batch to the grid. ``mapping``: one of ``MAPPINGS``. The past of static ones is
    synthesised from the model.

    What the device maps itself is contiguous.
    """
    values = batch.counts
    if mapping in ("average", "maximum"):
        return static_mapping(program, mapping)
    if mapping in ("contiguous", "device"):
        return map_tasks(program.block_counts, batch.size, values)
    blocks, _ = count_blocks(program.block_counts, batch.size, values)
    return arrange(blocks, mapping, np.maximum(1.0, block_bytes(program, values, blocks)))


def tasks_of_plan(layout: TaskLayout, plan: TaskPlan) -> TaskMap:
    """The tasks of a kernel whose workers are warps, in the order of their numbers."""
    tasks = task_features(layout, plan)
    counts = np.bincount(tasks["feature"], minlength=len(layout.order))
    return TaskMap(tasks, counts.astype(np.int32))


def static_mapping(program: EmbeddingProgram, strategy: str, seed: int = 0) -> TaskMap:
    """The same for every batch; ``strategy`` as ``static_blocks`` has it."""
    past = [
        count_blocks(program.block_counts, batch.size, batch.counts)[0]
        for batch in past_batches(program.model, _HISTORY, seed)
    ]
    return arrange(static_blocks(past, strategy))


def block_bytes(program: EmbeddingProgram, values: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Bytes of rows that a block of each feature looks up on average, float64 [features].

    ``values``, ``blocks``: int [features], each feature's indices and its blocks.
    """
    row_bytes = np.array([feature.row_bytes for feature in program.model.features])
    return values * row_bytes / blocks

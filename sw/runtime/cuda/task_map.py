"""Runtime thread mapping on the host: which block works on which feature (RecFlex, IV-B)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sw.compiler.cuda.layouts import TASK


@dataclass(frozen=True)
class TaskMap:
    """The grid of one launch.

    tasks
        ``TASK`` [grid]: each block's feature, and its number among that feature's blocks.
    feature_blocks
        int32 [features]: blocks of each feature.
    """

    tasks: np.ndarray
    feature_blocks: np.ndarray


def map_tasks(counts: np.ndarray, batch: int, values: np.ndarray) -> TaskMap:
    """Blocks of one feature side by side.

    counts
        ``BLOCK_COUNT`` [features].
    batch, values
        the batch's samples; int64 [features], its indices of each feature.
    """
    units = np.where(counts["per_value"] != 0, values, batch).astype(np.int64)
    blocks = np.maximum(1, -(-units * counts["numerator"] // counts["denominator"]))
    ends = np.cumsum(blocks)
    tasks = np.empty(int(ends[-1]), TASK)
    tasks["feature"] = np.repeat(np.arange(len(blocks), dtype=np.int32), blocks)
    tasks["block"] = np.arange(len(tasks)) - (ends - blocks)[tasks["feature"]]
    return TaskMap(tasks, blocks.astype(np.int32))

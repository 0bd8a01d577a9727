"""Thread mappings of fused kernels."""

from __future__ import annotations

import numpy as np

from gnarl.sw.runtime.cuda.task_map import TaskMap


def shuffled(mapping: TaskMap, seed: int) -> TaskMap:
    """Its blocks in any order, for the emulated GPU runs them one after the other."""
    order = np.random.default_rng(seed).permutation(len(mapping.tasks))
    return TaskMap(mapping.tasks[order], mapping.feature_blocks)

"""Compiles the passes' inner loops into numba's cache, so that the first workload need not wait.

Run once after installation: ``python -m sw.runtime.warm_up``.
"""

from __future__ import annotations

import numpy as np

from sw.compiler.cuda.layouts import BLOCK_COUNT
from sw.runtime.cuda.task_map import arrange, map_tasks
from sw.runtime.device import Device
from sw.workloads.dag.generate import random_dag


def main() -> None:
    """Compiles and runs a small DAG on the model, and maps a grid in both orders."""
    device = Device("dpu_d1_b8", backend="model")
    workload = random_dag(100, seed=1)
    device.run(device.compile(workload), workload.inputs)
    grid = map_tasks(np.ones(1, BLOCK_COUNT), 1, np.ones(1, np.int64))
    arrange(grid.feature_blocks, "interleaved", np.ones(1))


if __name__ == "__main__":
    main()

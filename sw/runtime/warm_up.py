"""Compiles the passes' inner loops into numba's cache, so that the first workload need not wait.

Run once after installation: ``python -m sw.runtime.warm_up``.
"""

from __future__ import annotations

from sw.compiler.frontend.generate import random_dag
from sw.runtime.device import Device


def main() -> None:
    """Compiles and runs a small DAG on the model."""
    device = Device("dpu_d1_b8", backend="model")
    workload = random_dag(100, seed=1)
    device.run(device.compile(workload), workload.inputs)


if __name__ == "__main__":
    main()

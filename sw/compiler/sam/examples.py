"""Expressions and random sparse tensors to try the SAM compiler with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse

from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import save_tensor

SIZE = 96
DENSITY = 0.06
EXAMPLES = {"matmul": SUITE["matmul_ikj"], "elemadd": SUITE["mat_elemadd"]}
"""Expressions by name, over the operands of ``write_operands``."""


def write_operands(folder: str | Path) -> dict[str, str]:
    """Writes sparse matrices ``B.mtx`` and ``C.mtx`` into a folder, created if missing; paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for seed, name in enumerate("BC"):
        random = np.random.default_rng(seed)
        matrix = scipy.sparse.random_array((SIZE, SIZE), density=DENSITY, rng=random)
        paths[name] = str(folder / f"{name}.mtx")
        save_tensor(paths[name], Tensor.from_any(matrix))
    return paths

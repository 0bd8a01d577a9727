"""Outputs of runs, dense or sparse, as tests compare them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse

from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.workloads.tensor.tensor import Tensor


def dense(output: Array) -> np.ndarray:
    """float64."""
    if isinstance(output, np.ndarray):
        return output.astype(np.float64)
    return Tensor.from_any(output).to_dense()


def load_dense(path: Path, name: str) -> np.ndarray:
    """An output that ``save_outputs`` wrote to an ``.npz`` file, float64."""
    with np.load(path) as arrays:
        if name in arrays:
            return arrays[name].astype(np.float64)
        if f"{name}.coordinates" not in arrays:
            return scipy.sparse.load_npz(path).toarray().astype(np.float64)
        coordinates, values = arrays[f"{name}.coordinates"], arrays[f"{name}.values"]
        return Tensor(tuple(arrays[f"{name}.shape"].tolist()), coordinates, values).to_dense()


def entries(output: Array) -> dict[tuple[int, ...], float]:
    """Stored entries by coordinate."""
    assert not isinstance(output, np.ndarray)
    places = map(tuple, output.coordinates.tolist())
    return dict(zip(places, output.values.tolist(), strict=True))

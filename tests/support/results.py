"""Outputs of runs, dense or sparse, as tests compare them."""

from __future__ import annotations

import numpy as np

from sw.program.tensor_spec import Array
from sw.runtime.result import Result
from sw.workloads.tensor.tensor import Tensor


def dense(output: Array) -> np.ndarray:
    """float64."""
    if isinstance(output, np.ndarray):
        return output.astype(np.float64)
    return Tensor.from_any(output).to_dense()


def entries(output: Array) -> dict[tuple[int, ...], float]:
    """Stored entries by coordinate."""
    assert not isinstance(output, np.ndarray)
    places = map(tuple, output.coordinates.tolist())
    return dict(zip(places, output.values.tolist(), strict=True))


def octets(result: Result) -> dict[str, tuple[bytes, ...]]:
    """Every output's bits, and coordinates."""
    return {
        name: (output.tobytes(),)
        if isinstance(output, np.ndarray)
        else (output.coordinates.tobytes(), output.values.tobytes())
        for name, output in result.outputs.items()
    }

"""Kernels of C as gcc compiles them: results with all bits, to compare nests with."""

from __future__ import annotations

import numpy as np

from bench.sram_compute_parts.c_reference import FLAGS, compiled, one_nan, results
from gnarl.sw.workloads.loops.ir.binding import dimension
from gnarl.sw.workloads.loops.ir.nest import Array, Nest
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, ScalarType

__all__ = ["FLAGS", "compiled", "one_nan", "results", "values"]

_SPECIAL = (0.0, -0.0, 1.0, -1.5, 1e30, -3e38, 1e-40, np.inf, -np.inf, np.nan, -np.nan)


def values(nest: Nest, sizes: dict[str, int], seed: int, manner: str) -> dict[str, np.ndarray]:
    """Arrays and scalars that runs give. ``manner``: ``small``, or ``edges`` of types and special
    floats."""
    random = np.random.default_rng(seed)

    def draw(type: ScalarType, shape: tuple[int, ...]) -> np.ndarray:
        if type == FLOAT32:
            if manner == "edges":
                return np.asarray(random.choice(np.array(_SPECIAL, np.float32), shape))
            return np.asarray(2 * random.standard_normal(shape), np.float32)
        if manner == "edges":
            edges = [type.least, type.least + 1, 0, 1, 2, type.most - 1, type.most]
            return np.asarray(random.choice(np.array(edges, type.dtype), shape))
        return np.asarray(random.integers(max(type.least, -9), 10, shape), type.dtype)

    found = {}
    for each in nest.parameters:
        if each.name in nest.temporaries:
            continue
        shape: tuple[int, ...] = ()
        if isinstance(each, Array):
            shape = tuple(dimension(size, sizes) for size in each.shape)
        found[each.name] = draw(each.type, shape)
    return found

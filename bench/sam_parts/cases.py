"""Operands for every kernel of the suite, and what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.workloads.tensor.parser import parse

SIZES = (
    {"i": 7, "j": 9, "k": 6, "l": 5},
    {"i": 1, "j": 1, "k": 1, "l": 1},
    {"i": 1, "j": 17, "k": 3, "l": 2},
    {"i": 20, "j": 2, "k": 11, "l": 4},
)
DENSITIES = (0.0, 0.01, 0.1, 0.5, 1.0)

_EINSUM = {
    "matmul": "ik,kj->ij",
    "mat_elemmul": "ij,ij->ij",
    "mat_identity": "ij->ij",
    "mat_vecmul": "ij,j->i",
    "mat_sddmm": "ij,ik,kj->ij",
    "vec_elemmul": "i,i->i",
    "vec_identity": "i->i",
    "vec_scalar_mul": ",i->i",
    "tensor3_elemmul": "ijk,ijk->ijk",
    "tensor3_identity": "ijk->ijk",
    "tensor3_innerprod": "ijk,ijk->",
    "tensor3_ttv": "ijk,k->ij",
    "tensor3_ttm": "ijl,kl->ijk",
    "tensor3_mttkrp": "ikl,jk,jl->ij",
    "vec_spacc": "ij->j",
    "mat_spacc": "ijk->jk",
    "vec_sd": "i->i",
    "vec_ds": "i->i",
    "mat_sd": "ij->ij",
    "mat_ds": "ij->ij",
}
"""Products, by how their names begin; operands in the order of their letters."""

_SUMS: dict[str, Callable[..., np.ndarray]] = {
    "mat_elemadd3": lambda B, C, D: B + C + D,
    "mat_elemadd": lambda B, C: B + C,
    "mat_mattransmul": lambda b, C, d, e, f: b * (C.T @ d) + e * f,
    "mat_residual": lambda b, C, d: b - C @ d,
    "vec_elemadd": lambda b, c: b + c,
    "tensor3_elemadd": lambda B, C: B + C,
}


@dataclass(frozen=True)
class Case:
    """Random operands of a kernel: the sizes at ``size`` in ``SIZES``, a density, a seed."""

    kernel: str
    size: int
    density: float
    seed: int

    def inputs(self, integers: bool) -> dict[str, Any]:
        """Dense arrays and numbers by name: small integers, or float32 from a normal distribution.

        Some rows are empty whatever the density.
        """
        random = np.random.default_rng([self.seed, self.size, round(100 * self.density)])
        arrays: dict[str, Any] = {}
        for access in parse(SUITE[self.kernel]).operands:
            shape = tuple(SIZES[self.size][index] for index in access.indices)
            if integers:
                values = random.integers(1, 8, shape).astype(np.float64)
            else:
                values = random.standard_normal(shape).astype(np.float32).astype(np.float64)
            kept = random.random(shape) < self.density
            if len(shape) > 1 and shape[0] > 2 and self.density < 1:
                kept[random.integers(shape[0])] = False
            arrays[access.tensor] = np.where(kept, values, 0.0) if shape else float(values)
        return arrays

    def expected(self, inputs: Mapping[str, Any]) -> np.ndarray:
        """NumPy's result in float64, of the sizes of the result's indices."""
        for name, function in _SUMS.items():
            if self.kernel.startswith(name):
                return np.asarray(function(**inputs))
        subscripts = next(
            subscripts for name, subscripts in _EINSUM.items() if self.kernel.startswith(name)
        )
        return np.einsum(subscripts, *(inputs[name] for name in sorted(inputs)), optimize=True)


def cases(kernel: str, seed: int) -> list[Case]:
    """Every size at every density."""
    return [
        Case(kernel, size, density, seed) for size in range(len(SIZES)) for density in DENSITIES
    ]

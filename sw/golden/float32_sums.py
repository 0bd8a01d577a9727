"""How far float32 sums may be off, in whatever order they are taken.

Source: Higham, "Accuracy and Stability of Numerical Algorithms" (2nd edition, 2002), chapters 3
and 4.
"""

from __future__ import annotations

import numpy as np

UNIT = 2.0**-24
"""Half the distance from 1 to the next float32."""
UNDERFLOW = 2.0**-150
"""The largest error of a float32 product or fused operation beyond the relative one."""


def gamma(roundings: np.ndarray) -> np.ndarray:
    """The relative error of a product of so many factors 1 + δ, |δ| <= u; infinite from 1/u on
    (Higham, 3.1, equation 3.4)."""
    error = roundings * UNIT
    with np.errstate(divide="ignore"):
        return np.where(error < 1, error / np.maximum(1 - error, 0), np.inf)


def common_step(numbers: np.ndarray) -> float:
    """The largest power of two that all of them, finite float32, are multiples of."""
    bits = np.abs(numbers[numbers != 0]).view(np.uint32)
    if not len(bits):
        return 1.0
    exponents = np.maximum(bits >> 23, 1).astype(np.int64)
    fractions = np.where(bits >> 23, bits & 0x7FFFFF | 0x800000, bits & 0x7FFFFF).astype(np.int64)
    lowest = np.log2(fractions & -fractions).astype(np.int64)
    return 2.0 ** int((exponents + lowest).min() - 150)

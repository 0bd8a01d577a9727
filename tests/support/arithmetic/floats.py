"""Operands in float formats, with NumPy and ml_dtypes as the reference where they have them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gnarl.hw.lib.formats import FLOAT_FORMATS, FloatFormat, float_dtype
from tests.support.arithmetic.numbers import corners, crossed, random_pairs

EIGHT_BITS = ("float8_e5m2", "float8_e4m3")
WIDER = ("float32", "float16", "bfloat16")

DTYPES = {**{name: float_dtype(name) for name in FLOAT_FORMATS}, "float64": np.dtype(np.float64)}
FORMATS = {**FLOAT_FORMATS, "float64": FloatFormat(11, 52)}


def fresh_rng() -> np.random.Generator:
    """A generator whose seed is printed; ``GNARL_TEST_SEED`` gives it back."""
    seed = int(os.environ.get("GNARL_TEST_SEED") or np.random.SeedSequence().entropy % (1 << 32))
    print(f"GNARL_TEST_SEED={seed}")
    return np.random.default_rng(seed)


def operands(name: str, kind: str) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """All pairs of 8-bit words, corners crossed with each other, or random pairs: a quarter of a
    million, or all of it."""
    format = FORMATS[name]
    if kind == "all":
        return crossed(np.arange(1 << format.width, dtype=np.uint64))
    if kind == "corners":
        return crossed(corners(format))
    return random_pairs(format, {"random": 250_000, "million": 1_000_000}[kind], fresh_rng())


def numbers(name: str, words: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
    """The words as NumPy numbers."""
    dtype = DTYPES[name]
    return words.astype(f"u{dtype.itemsize}").view(dtype)


def words(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """NumPy numbers as words, NaNs made canonical."""
    dtype = DTYPES[name]
    bits = values.view(f"u{dtype.itemsize}").astype(np.uint64)
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(values), np.uint64(FORMATS[name].canonical_nan), bits)


def minimum(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """NumPy's minimum, but with -0 below +0; equal numbers differ in nothing else."""
    equal = np.where(np.signbit(left), left, right)
    return np.where(left == right, equal, np.minimum(left, right)).astype(left.dtype)


def maximum(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """NumPy's maximum, but with -0 below +0."""
    equal = np.where(np.signbit(left), right, left)
    return np.where(left == right, equal, np.maximum(left, right)).astype(left.dtype)


NUMPY_CASES = [
    *((name, "all") for name in EIGHT_BITS),
    *((name, kind) for name in WIDER for kind in ("corners", "random")),
    *(pytest.param(name, "million", marks=pytest.mark.slow) for name in WIDER),
    pytest.param("float64", "corners", marks=pytest.mark.slow),
]
"""Formats and operands that NumPy and ml_dtypes are asked about; no machine has float64."""

ODD_FORMATS = (FloatFormat(2, 1), FloatFormat(2, 4), FloatFormat(3, 2), FloatFormat(4, 1))
"""Formats without a NumPy type; products of subnormals don't vanish in most of them."""

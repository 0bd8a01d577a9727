"""Functions of one number: what they are exactly, and operands that bring out their corners."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.functions.function import Function, FunctionUnit
from tests.support.arithmetic.numbers import corners

ROUNDED = (Function.EXP, Function.RECIPROCAL, Function.SQRT, Function.GELU)
ROUNDED += (Function.SIGMOID, Function.TANH, Function.LOG)
"""All functions that compute anything."""


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))


EXACT: dict[Function, Callable[[np.ndarray], np.ndarray]] = {
    Function.RELU: lambda x: np.maximum(x, 0.0),
    Function.EXP: np.exp,
    Function.RECIPROCAL: lambda x: 1 / x,
    Function.SQRT: np.sqrt,
    Function.GELU: lambda x: x * ndtr(x),
    Function.SIGMOID: _sigmoid,
    Function.TANH: np.tanh,
    Function.LOG: np.log,
}
"""In float64, whose errors are below a hundred-millionth of a unit of float32."""


def error_in_ulp(
    function: Function, format: FloatFormat, words: np.ndarray, results: np.ndarray
) -> npt.NDArray[np.float64]:
    """How far ``results`` are from the function of ``words``, in units in the last place.

    Only where the exact result is finite in float64. Numbers above the greatest are thought to go
    on, and infinity is the first of them.
    """
    beyond = 2.0 ** (format.bias + 1)
    with np.errstate(all="ignore"):
        exact = EXACT[function](values(format, words))
        finite = np.isfinite(exact)
        exact = np.clip(exact[finite], -beyond, beyond)
        got = np.clip(values(format, results[finite]), -beyond, beyond)
        exponent = np.maximum(np.frexp(exact)[1] - 1, 1 - format.bias)
        return np.ldexp(np.abs(got - exact), format.fraction - exponent)


def values(format: FloatFormat, words: np.ndarray) -> npt.NDArray[np.float64]:
    """The numbers of any format, those without a name too."""
    words = words.astype(np.int64)
    field = words >> format.fraction & (1 << format.exponent) - 1
    fraction = words & (1 << format.fraction) - 1
    significand = np.where(field > 0, fraction + (1 << format.fraction), fraction)
    scale = np.maximum(field, 1) - format.bias - format.fraction
    magnitude = np.ldexp(significand.astype(np.float64), scale)
    special = np.where(fraction > 0, np.nan, np.inf)
    magnitude = np.where(field == (1 << format.exponent) - 1, special, magnitude)
    return np.where(words >> (format.width - 1) > 0, -magnitude, magnitude)


def operands(format: FloatFormat, count: int, rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """Every word of a format of 16 bits or less; of float32, corners and ``count`` random words.

    Half of these have magnitudes from 2**-30 to 2**8, where functions differ from their limits; a
    quarter are within a few words of where pieces of tables and results' exponents change.
    """
    if format.width <= 16:
        return np.arange(1 << format.width, dtype=np.uint32)
    named = corners(format).astype(np.uint32)
    edges = _edges(format)
    near = [edges + np.uint32(step % (1 << 32)) for step in range(-2, 3)]
    half, quarter = count // 2, count // 4
    exponent = rng.integers(format.bias - 30, format.bias + 8, half)
    middle = exponent << format.fraction | rng.integers(0, 1 << format.fraction, half)
    middle |= rng.integers(0, 2, half) << (format.width - 1)
    steps = rng.integers(-64, 65, quarter)
    around = edges[rng.integers(0, len(edges), quarter)].astype(np.int64) + steps
    anything = rng.integers(0, 1 << format.width, quarter)
    random = np.concatenate([middle, around, anything]) & (1 << format.width) - 1
    return np.concatenate([named, *near, random.astype(np.uint32)])


def _edges(format: FloatFormat) -> npt.NDArray[np.uint32]:
    """float32 words of powers of two, 1 and a power of two more or less, multiples of log(2), and
    64ths of what is below 16."""
    powers = np.ldexp(1.0, np.arange(1 - format.bias, format.bias + 1))
    logarithms = np.arange(-2 * format.bias, 2 * format.bias) * np.log(2) / 2
    parts = np.arange(-16, 16, 1 / 64)
    values = np.concatenate([powers, -powers, 1 + powers, 1 - powers, logarithms, parts])
    return values.astype(np.float32).view(np.uint32)


def every_function(format: FloatFormat, stages: int | None = None) -> dict[str, FunctionUnit]:
    """A unit for each function, by its name in small letters."""
    return {f.name.lower(): FunctionUnit(format, f, stages) for f in Function}

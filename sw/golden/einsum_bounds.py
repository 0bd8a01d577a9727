"""What machines may make of Einsum programs in floating point, in whatever order they sum.

Every number is an interval, whose ends are numbers of the format. An operation rounds its ends, so
that exact operands have one result; a sum of n numbers is within γ_{n-1} Σ|x| of the exact one, or
it, where every order gives it; a function of one number is within ``ERROR_BOUND_ULP``. Where a sum
may overflow on the way, or a NaN arise, anything goes.
Source: Higham, "Accuracy and Stability of Numerical Algorithms" (2nd edition, 2002), chapters 3
and 4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from gnarl.hw.lib.formats import FloatFormat, parse_format
from gnarl.sw.golden.einsum import evaluate_with
from gnarl.sw.golden.numbers import Reals
from gnarl.sw.golden.words import float_words, from_words, to_words
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.tensor.tensor import Tensor

_GELU_LEAST = -0.7517915246935645
"""Where GELU, which falls before it and rises behind it, is least."""


def bounds(
    program: EinsumProgram,
    tensors: Mapping[str, Tensor],
    format: str,
    keep: Collection[str] = (),
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Coordinates of results and of the tensors to ``keep``, as ``evaluate`` has them, and float64
    [n] the least and the greatest number that may be there; both are infinite where there may be
    any number, or NaN.

    It holds for sums in any order, every operation being rounded by itself. Intervals go from
    statement to statement; ``gnarl.sw.golden.einsum.alone`` has each begin with exact operands.
    Raises what ``evaluate`` does, and ``ValueError`` for fixed point.
    """
    kind = parse_format(format)
    if not isinstance(kind, FloatFormat):
        raise ValueError(f"no bounds in {format}: take a floating-point format")
    with np.errstate(all="ignore"):
        found = evaluate_with(_Intervals(format, kind), program, tensors, keep)
    return {name: (at, each["low"], each["high"]) for name, (at, each) in found.items()}


class _Intervals:
    """Intervals of numbers of a format; from -∞ to ∞ is anything, even NaN."""

    dtype = np.dtype([("low", np.float64), ("high", np.float64)])

    def __init__(self, format: str, kind: FloatFormat) -> None:
        self._format = format
        self._kind = kind
        self._reals = Reals()
        self._unit = 2.0 ** -(kind.fraction + 1)
        infinity = np.array([kind.infinity - 1], np.uint32)
        self._largest = float(from_words(infinity, format)[0])

    def of(self, values: np.ndarray) -> np.ndarray:
        numbers = from_words(to_words(values, self._format), self._format)
        return self._intervals(numbers, numbers)

    def reals(self, numbers: np.ndarray) -> np.ndarray:
        return numbers["low"]

    def apply(self, operation: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        a, b, c, d = left["low"], left["high"], right["low"], right["high"]
        pairs = {"sub": ((a, d), (b, c)), "mul": ((a, c), (a, d), (b, c), (b, d))}
        ends = [
            self._reals.apply(operation, one, other)
            for one, other in pairs.get(operation, ((a, c), (b, d)))
        ]
        unknown = _is_unknown(left) | _is_unknown(right)
        return self._intervals(np.minimum.reduce(ends), np.maximum.reduce(ends), unknown)

    def call(self, function: str, numbers: np.ndarray) -> np.ndarray:
        # Its tables are made on import, and few statements need them.
        from gnarl.hw.lib.functions.function import ERROR_BOUND_ULP, Function

        low, high = numbers["low"], numbers["high"]
        ends = [self._reals.call(function, end) for end in (low, high)]
        unknown = _is_unknown(numbers)
        if function == "reciprocal":
            unknown |= (low <= 0) & (high >= 0)
        if function == "gelu":
            least = self._reals.call(function, np.full_like(low, _GELU_LEAST))
            ends.append(np.where((low <= _GELU_LEAST) & (_GELU_LEAST <= high), least, ends[0]))
        least, greatest = np.minimum.reduce(ends), np.maximum.reduce(ends)
        bound = ERROR_BOUND_ULP[Function[function.upper()]]  # type: ignore
        if bound > 0.5:  # else it is rounded like operations
            # Between the ends the unit may be that of the next power of two.
            units = np.where(low == high, bound, 2 * bound)
            units[(low == 0) & (high == 0) & self.keeps_zero(function)] = 0
            least = least - units * self._ulp(least) - 2.0**-50 * np.abs(least)
            greatest = greatest + units * self._ulp(greatest) + 2.0**-50 * np.abs(greatest)
        return self._intervals(least, greatest, unknown)

    def totals(self, operation: str, numbers: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        if not len(lengths):
            return np.zeros(0, self.dtype)
        first = np.cumsum(lengths) - lengths
        unknown = np.logical_or.reduceat(_is_unknown(numbers), first)
        low, high = (
            self._reals.totals(operation, numbers[end], lengths) for end in ("low", "high")
        )
        if operation == "add":
            magnitudes = np.maximum(np.abs(numbers["low"]), np.abs(numbers["high"]))
            most = np.add.reduceat(magnitudes, first)
            roundings = lengths - 1
            error = roundings * self._unit
            gamma = np.where(error < 1, error / np.maximum(1 - error, 0), np.inf)
            # Besides, what the float64 sums here are off, generously.
            radius = (gamma + lengths * 2.0**-52) * most
            exact = np.logical_and.reduceat(numbers["low"] == numbers["high"], first)
            exact &= most <= _common_step(magnitudes) / self._unit
            radius[exact | (lengths == 1)] = 0
            unknown |= (lengths > 1) & (most + radius > self._largest)
            low, high = low - radius, high + radius
        return self._intervals(low, high, unknown)

    def keeps_zero(self, function: str) -> bool:
        return self._reals.keeps_zero(function)

    def _intervals(
        self, low: np.ndarray, high: np.ndarray, unknown: np.ndarray | None = None
    ) -> np.ndarray:
        """Intervals with ends that are rounded to the format: what is between these ends is between
        those, if it is a number of the format."""
        intervals = np.zeros(len(low), self.dtype)
        anything = np.isnan(low) | np.isnan(high)
        if unknown is not None:
            anything |= unknown
        for name, end, infinity in (("low", low, -np.inf), ("high", high, np.inf)):
            rounded = from_words(float_words(end, self._kind), self._format)
            intervals[name] = np.where(anything, infinity, rounded)
        return intervals

    def _ulp(self, numbers: np.ndarray) -> np.ndarray:
        """The distance between the numbers of the format around each."""
        magnitudes = np.where(np.isfinite(numbers), np.abs(numbers), 0)
        exponents = np.maximum(np.frexp(magnitudes)[1] - 1, 1 - self._kind.bias)
        return np.ldexp(1.0, exponents - self._kind.fraction)


def _is_unknown(numbers: np.ndarray) -> np.ndarray:
    return (numbers["low"] == -np.inf) & (numbers["high"] == np.inf)


def _common_step(magnitudes: np.ndarray) -> float:
    """The largest power of two that all of them, where finite, are multiples of."""
    finite = magnitudes[np.isfinite(magnitudes) & (magnitudes != 0)]
    if not len(finite):
        return 1.0
    significands, exponents = np.frexp(finite)
    whole = np.ldexp(significands, 53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return float(np.ldexp(1.0, int((exponents - 53 + lowest).min())))

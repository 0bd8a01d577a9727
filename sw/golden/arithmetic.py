"""Two-operand arithmetic of ``gnarl.hw.lib.formats``, as NumPy and ml_dtypes do it.

Floating point is IEEE 754-2019: round to nearest even, with subnormals; maximum and minimum of
clause 9.6 (NaN prevails, -0 is below +0). Any NaN result is the canonical one. Fixed point: sums
wrap, products are rounded to nearest even and wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from gnarl.hw.lib.formats import FixedFormat, FloatFormat, float_dtype, parse_format
from gnarl.hw.lib.losses import LOSSES
from gnarl.hw.lib.operation import Operation


class _FloatArithmetic:
    """Operations on arrays of ``numbers``, a NumPy type of the format's own."""

    def __init__(self, format: FloatFormat, dtype: np.dtype) -> None:
        self._format = format
        self._dtype = dtype
        self._bits = np.dtype(f"u{dtype.itemsize}")
        self._operations: dict[int, Callable[..., np.ndarray]] = {
            Operation.ADD: np.add,
            Operation.SUB: np.subtract,
            Operation.MUL: np.multiply,
            Operation.MAX: partial(self._select, takes_left=np.greater_equal),
            Operation.MIN: partial(self._select, takes_left=np.less_equal),
        }

    def numbers(self, words: np.ndarray) -> np.ndarray:
        """Numbers from raw bits (uint32)."""
        return words.astype(self._bits).view(self._dtype)

    def words(self, numbers: np.ndarray) -> np.ndarray:
        """Raw bits (uint32) of numbers, NaNs made canonical."""
        bits = numbers.view(self._bits).astype(np.uint32)
        return np.where(self._is_nan(numbers), np.uint32(self._format.canonical_nan), bits)

    def apply(self, operation: int, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """``left operation right``, an ``Operation``; a NaN may have any payload."""
        with np.errstate(all="ignore"):
            return self._operations[operation](left, right)

    def losses(
        self, operation: int, left: np.ndarray, right: np.ndarray, o: np.ndarray
    ) -> dict[str, int]:
        """How many results of ``apply`` lost something, by name of
        ``gnarl.hw.lib.losses.LOSSES``."""
        if operation in (Operation.MAX, Operation.MIN):
            return dict.fromkeys(LOSSES, 0)
        is_nan = self._is_nan(left) | self._is_nan(right)
        is_finite = ~(is_nan | self._is_infinite(left) | self._is_infinite(right))
        # A sum is 0 only if it is exactly.
        is_zero = self._is_zero(left) | self._is_zero(right) | (operation != Operation.MUL)
        return {
            "underflow": int((is_finite & ~is_zero & self._is_zero(o)).sum()),
            "overflow": int((is_finite & self._is_infinite(o)).sum()),
            "nan": int((~is_nan & self._is_nan(o)).sum()),
        }

    def _select(self, left: np.ndarray, right: np.ndarray, takes_left: np.ufunc) -> np.ndarray:
        better = takes_left(self._rank(left), self._rank(right))
        return np.where(self._is_nan(left) | better & ~self._is_nan(right), left, right)

    def _is_nan(self, numbers: np.ndarray) -> np.ndarray:
        return self._magnitude(numbers) > self._format.infinity

    def _is_infinite(self, numbers: np.ndarray) -> np.ndarray:
        return self._magnitude(numbers) == self._format.infinity

    def _is_zero(self, numbers: np.ndarray) -> np.ndarray:
        return self._magnitude(numbers) == 0

    def _magnitude(self, numbers: np.ndarray) -> np.ndarray:
        """Their bits without the sign."""
        bits = numbers.view(self._bits)
        return bits & bits.dtype.type((1 << self._format.width - 1) - 1)

    def _rank(self, numbers: np.ndarray) -> np.ndarray:
        """Integers in the order of the numbers, -0 below +0."""
        bits = numbers.view(self._bits).astype(np.int64)
        sign = 1 << (self._format.width - 1)
        return np.where(bits & sign, sign - 1 - bits, bits)


class _FixedArithmetic:
    """The same on int64, in units of the last place."""

    def __init__(self, format: FixedFormat) -> None:
        self._format = format
        self._operations: dict[int, Callable[..., np.ndarray]] = {
            Operation.ADD: lambda left, right: self._wrap(left + right),
            Operation.SUB: lambda left, right: self._wrap(left - right),
            Operation.MUL: lambda left, right: self._wrap(self._round(left * right)),
            Operation.MAX: np.maximum,
            Operation.MIN: np.minimum,
        }

    def numbers(self, words: np.ndarray) -> np.ndarray:
        return self._wrap(words.astype(np.int64))

    def words(self, numbers: np.ndarray) -> np.ndarray:
        return (numbers & (1 << self._format.width) - 1).astype(np.uint32)

    def apply(self, operation: int, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return self._operations[operation](left, right)

    def losses(
        self, operation: int, left: np.ndarray, right: np.ndarray, o: np.ndarray
    ) -> dict[str, int]:
        """Counts losses as for floating point; results that wrap overflow."""
        if operation in (Operation.MAX, Operation.MIN):
            return dict.fromkeys(LOSSES, 0)
        sum = left - right if operation == Operation.SUB else left + right
        exact = self._round(left * right) if operation == Operation.MUL else sum
        is_zero = (left == 0) | (right == 0) | (operation != Operation.MUL)
        return {
            "underflow": int((~is_zero & (exact == 0)).sum()),
            "overflow": int((exact != o).sum()),
            "nan": 0,
        }

    def _wrap(self, numbers: np.ndarray) -> np.ndarray:
        sign = 1 << (self._format.width - 1)
        return ((numbers & 2 * sign - 1) ^ sign) - sign

    def _round(self, products: np.ndarray) -> np.ndarray:
        """Drops the second ``fraction`` bits after the point, to nearest even."""
        places = self._format.fraction
        if places == 0:
            return products
        down = products >> places
        # Half a unit rounds up only if that makes the result even.
        return down + ((products & (1 << places) - 1) + (down & 1) > 1 << (places - 1))


Arithmetic = _FloatArithmetic | _FixedArithmetic


def arithmetic(format: str) -> Arithmetic:
    """Arithmetic of the format of that name; ``ValueError`` if it is unknown."""
    kind = parse_format(format)
    if isinstance(kind, FloatFormat):
        return _FloatArithmetic(kind, float_dtype(format))
    return _FixedArithmetic(kind)

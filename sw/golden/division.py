"""Quotients and square roots of words, as NumPy and ml_dtypes compute them.

Those of floating point are IEEE 754-2019's, rounded to nearest even; any NaN is the canonical one.
ml_dtypes computes in float32, and rounds again: correctly, as float32 has more than twice as many
bits of significand as its types.
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.formats import FloatFormat, parse_format
from gnarl.sw.golden.arithmetic import Arithmetic, arithmetic


def divide(dividend: np.ndarray, divisor: np.ndarray, format: str) -> np.ndarray:
    """Quotients of words, as words (uint32) of the same floating-point format.

    ``ValueError`` for a format that is unknown, or fixed point.
    """
    numbers = _float_arithmetic(format)
    with np.errstate(all="ignore"):
        return numbers.words(numbers.numbers(dividend) / numbers.numbers(divisor))


def square_root(words: np.ndarray, format: str) -> np.ndarray:
    """Square roots of words, as ``divide`` gives quotients."""
    numbers = _float_arithmetic(format)
    with np.errstate(all="ignore"):
        return numbers.words(np.sqrt(numbers.numbers(words)))


def divide_integers(
    dividend: np.ndarray, divisor: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Quotients and remainders (uint64) of unsigned numbers of ``width`` bits, up to 64.

    A divisor of 0 gives all ones, and the dividend.
    """
    a, b = dividend.astype(np.uint64), divisor.astype(np.uint64)
    by_zero = b == 0
    divisible = np.where(by_zero, np.uint64(1), b)
    quotient = np.where(by_zero, np.uint64((1 << width) - 1), a // divisible)
    return quotient, np.where(by_zero, a, a % divisible)


def divide_signed_integers(
    dividend: np.ndarray, divisor: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Quotients, rounded to 0, and remainders (int64) of signed numbers of ``width`` bits, up to
    32; the remainder has the dividend's sign.

    A divisor of 0 gives -1, and the dividend. The lowest number by -1 gives itself, and 0.
    """
    a, b = dividend.astype(np.int64), divisor.astype(np.int64)
    magnitude = np.abs(a) // np.where(b == 0, 1, np.abs(b))
    quotient = np.where(b == 0, -1, np.where((a < 0) == (b < 0), magnitude, -magnitude))
    sign = 1 << width - 1
    return ((quotient + sign) & (2 * sign - 1)) - sign, np.where(b == 0, a, a - quotient * b)


def floor_divide_integers(
    dividend: np.ndarray, divisor: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Quotients, rounded down, and remainders (int64), which have the divisor's sign, of numbers
    of ``width`` bits, up to 32, all signed or none; quotients are those modulo 2^``width``.

    A divisor of 0 gives -1, or 0 where the dividend is negative; and the dividend.
    """
    a, b = dividend.astype(np.int64), divisor.astype(np.int64)
    by_zero = b == 0
    divisible = np.where(by_zero, 1, b)
    quotient = np.where(by_zero, np.where(a < 0, 0, -1), a // divisible)
    return quotient & (1 << width) - 1, np.where(by_zero, a, a % divisible)


def _float_arithmetic(format: str) -> Arithmetic:
    if not isinstance(parse_format(format), FloatFormat):
        raise ValueError(f"no quotients in {format}: take a floating-point format")
    return arithmetic(format)

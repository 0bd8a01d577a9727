"""Operands that bring out the corners of number formats, and exact references for results."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from gnarl.hw.lib.formats import FloatFormat

Words = np.ndarray
"""Bits of numbers, uint64."""


def corners(format: FloatFormat) -> Words:
    """Zeros, ones, least and greatest numbers of each kind, their neighbours, NaNs; both signs."""
    least_normal = 1 << format.fraction
    one = format.bias << format.fraction
    fraction = least_normal - 1
    positive = {
        0,
        1,
        2,
        least_normal // 2,
        least_normal - 2,
        least_normal - 1,
        least_normal,
        least_normal + 1,
        2 * least_normal,
        one - least_normal,
        one - 1,
        one,
        one + 1,
        one | fraction,
        one + least_normal,
        one + (format.fraction + 1) * least_normal,
        one + (format.fraction + 2) * least_normal,
        format.infinity // 2 & ~fraction,
        format.infinity - least_normal,
        format.infinity - 2,
        format.infinity - 1,
        format.infinity,
        format.infinity + 1,
        format.canonical_nan,
        format.canonical_nan | fraction,
    }
    words = sorted(word for word in positive if word <= format.infinity | fraction)
    return np.array(words + [word | 1 << (format.width - 1) for word in words], np.uint64)


def crossed(words: Words) -> tuple[Words, Words]:
    """Every word with every word."""
    left, right = np.meshgrid(words, words)
    return left.ravel(), right.ravel()


def random_pairs(format: FloatFormat, count: int, rng: np.random.Generator) -> tuple[Words, Words]:
    """Pairs of which many cancel, reach subnormals, overflow, or are a tie when rounded.

    A quarter each: any bits; second operand close to the first one, of either sign; exponents at
    most two significands apart; exponents whose product is about the least or the greatest number.
    A tenth of the exponents are the least or the greatest ones, NaN's among them. Fractions are any
    bits, or a few at the upper end.
    """
    quarter = count // 4
    size = 4 * quarter
    top = (1 << format.exponent) - 1
    sign = rng.integers(0, 2, (2, size))
    extreme = rng.choice([0, 0, 1, 2, top - 2, top - 1, top - 1, top], (2, size))
    exponent = np.where(rng.random((2, size)) < 0.9, rng.integers(0, top, (2, size)), extreme)
    full = rng.integers(0, 1 << format.fraction, (2, size))
    sparse = full & (rng.integers(0, 1 << format.fraction, (2, size)) << (format.fraction // 2 + 1))
    fraction = np.where(rng.integers(0, 2, (2, size)), full, sparse) & (1 << format.fraction) - 1

    apart = slice(2 * quarter, 3 * quarter)
    reach = 2 * format.fraction + 4
    exponent[1, apart] = exponent[0, apart] + rng.integers(-reach, reach + 1, quarter)
    edge = slice(3 * quarter, 4 * quarter)
    product = np.where(rng.integers(0, 2, quarter), 1 - format.fraction // 2, top)
    spread = rng.integers(-format.fraction - 2, format.fraction + 3, quarter)
    exponent[1, edge] = product + format.bias - exponent[0, edge] + spread
    exponent = np.clip(exponent, 0, top)

    words = ((sign << format.exponent | exponent) << format.fraction | fraction).astype(np.uint64)
    near = slice(quarter, 2 * quarter)
    last = np.uint64((1 << format.width) - 1)
    steps = rng.integers(-4, 5, quarter) << rng.integers(0, format.fraction + 1, quarter)
    words[1, near] = (words[0, near] + steps.astype(np.uint64)) & last
    words[1, near] ^= rng.integers(0, 2, quarter).astype(np.uint64) << np.uint64(format.width - 1)
    order = rng.permutation(size)
    return words[0, order], words[1, order]


class RationalFloat:
    """Arithmetic of a float format on exact fractions, one number at a time.

    Source: IEEE 754-2019, clauses 3.4 (encodings), 4.3.1 (rounding), 6.3 (signs of zero), 7.2
    (invalid operations).
    """

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        self._sign = 1 << (format.width - 1)
        # Magnitudes grow with their encoding; the value after the greatest finite one decides
        # overflow, as if the exponent had no end.
        self._values = [self._magnitude(word) for word in range(format.infinity + 1)]

    def _magnitude(self, word: int) -> Fraction:
        exponent, fraction = divmod(word, 1 << self._format.fraction)
        hidden = 1 << self._format.fraction if exponent else 0
        scale = max(exponent, 1) - self._format.bias - self._format.fraction
        return (hidden + fraction) * Fraction(2) ** scale

    def is_nan(self, word: int) -> bool:
        return word & ~self._sign > self._format.infinity

    def _is_infinite(self, word: int) -> bool:
        return word & ~self._sign == self._format.infinity

    def _value(self, word: int) -> Fraction:
        magnitude = self._values[word & ~self._sign]
        return -magnitude if word & self._sign else magnitude

    def _round(self, value: Fraction, zero_sign: int) -> int:
        """The word nearest to a value; of two, the one whose last bit is 0."""
        sign = (self._sign if value < 0 else 0) if value else zero_sign
        magnitude = abs(value)
        above = next(
            (word for word, other in enumerate(self._values) if other >= magnitude),
            self._format.infinity,
        )
        if above == 0:
            return sign
        distances = [
            (abs(self._values[word] - magnitude), word & 1, word) for word in (above - 1, above)
        ]
        return sign | min(distances)[2]

    def add(self, left: int, right: int) -> int:
        if self.is_nan(left) or self.is_nan(right):
            return self._format.canonical_nan
        if self._is_infinite(left) and self._is_infinite(right) and left != right:
            return self._format.canonical_nan
        if self._is_infinite(left):
            return left
        if self._is_infinite(right):
            return right
        both_negative = left & right & self._sign
        return self._round(self._value(left) + self._value(right), both_negative)

    def subtract(self, left: int, right: int) -> int:
        return self.add(left, right ^ self._sign)

    def multiply(self, left: int, right: int) -> int:
        sign = (left ^ right) & self._sign
        infinite = self._is_infinite(left) or self._is_infinite(right)
        zero = not (left & ~self._sign and right & ~self._sign)
        if self.is_nan(left) or self.is_nan(right) or (infinite and zero):
            return self._format.canonical_nan
        if infinite:
            return self._format.infinity | sign
        return self._round(self._value(left) * self._value(right), sign)

    def rank(self, word: int) -> int:
        """Whole numbers in the order of the numbers, -0 below +0."""
        magnitude = word & ~self._sign
        return -1 - magnitude if word & self._sign else magnitude

    def minimum(self, left: int, right: int) -> int:
        return self._extreme(min, left, right)

    def maximum(self, left: int, right: int) -> int:
        return self._extreme(max, left, right)

    def _extreme(self, choose: Callable[..., int], left: int, right: int) -> int:
        if self.is_nan(left) or self.is_nan(right):
            return self._format.canonical_nan
        return choose(left, right, key=self.rank)

"""Quotients and square roots in exact whole numbers, and operands that bring out their corners."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from gnarl.hw.lib.formats import FloatFormat
from tests.support.arithmetic.numbers import Words, random_pairs


class ExactQuotients:
    """Exact quotients of one float format of any width, one number at a time.

    Source: IEEE 754-2019, clauses 4.3.1 (rounding), 5.4.1, 6.3 (signs), 7.2 (invalid operations).
    """

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        self._sign = 1 << (format.width - 1)

    def divide(self, dividend: int, divisor: int) -> int:
        infinity, nan = self._format.infinity, self._format.canonical_nan
        sign = (dividend ^ divisor) & self._sign
        a, b = dividend & ~self._sign, divisor & ~self._sign
        if max(a, b) > infinity or (a == b and a in (0, infinity)):
            return nan
        if a == infinity or b == 0:
            return sign | infinity
        if b == infinity:
            return sign
        return sign | self._rounded(self._value(a) / self._value(b))

    def square_root(self, word: int) -> int:
        if word in (0, self._sign, self._format.infinity):
            return word
        if word > self._format.infinity:
            return self._format.canonical_nan
        # Whole, with an even exponent, and so large that what is cut off only breaks ties.
        places = 2 * (self._format.bias + 2 * self._format.fraction + 4)
        scaled = self._value(word) * 2**places
        assert scaled.denominator == 1
        root = isqrt(scaled.numerator)
        is_inexact = root * root != scaled.numerator
        return self._rounded(Fraction(2 * root + is_inexact, 2 ** (places // 2 + 1)))

    def _value(self, magnitude: int) -> Fraction:
        field, fraction = divmod(magnitude, 1 << self._format.fraction)
        hidden = 1 << self._format.fraction if field else 0
        scale = max(field, 1) - self._format.bias - self._format.fraction
        return (hidden + fraction) * Fraction(2) ** scale

    def _rounded(self, value: Fraction) -> int:
        if value == 0:
            return 0
        power = value.numerator.bit_length() - value.denominator.bit_length()
        power -= value < Fraction(2) ** power
        power = max(power, 1 - self._format.bias)
        # Python rounds half to even; a carry adds to the exponent's field.
        significand = round(value / Fraction(2) ** (power - self._format.fraction))
        word = (power + self._format.bias - 1 << self._format.fraction) + significand
        return min(word, self._format.infinity)


def quotient_operands(
    format: FloatFormat, count: int, rng: np.random.Generator
) -> tuple[Words, Words]:
    """Pairs, a third each: any, as ``random_pairs`` has them; with quotients next to the middle of
    two numbers; with quotients about the least or the greatest number, many of them halfway."""
    third = count // 3
    pairs = [random_pairs(format, third, rng)]
    top, half = (1 << format.exponent) - 1, 1 << format.fraction
    pairs.append(_near_ties(format, third, rng))

    divisor = rng.integers(0, half, third) & np.where(rng.integers(0, 2, third), 0, half - 1)
    dividend = rng.integers(0, half, third)
    field = rng.integers(0, top, third)
    reach = format.bias + format.fraction + 2
    beyond = rng.choice([-1, 1], third) * (reach - rng.integers(0, format.fraction + 5, third))
    exponent = np.clip(field + beyond, 0, top - 1)
    pairs.append((exponent << format.fraction | dividend, field << format.fraction | divisor))

    left, right = (np.concatenate(words).astype(np.uint64) for words in zip(*pairs, strict=True))
    signs = rng.integers(0, 2, (2, len(left))).astype(np.uint64) << np.uint64(format.width - 1)
    return left ^ signs[0], right ^ signs[1]


def _near_ties(
    format: FloatFormat, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Normal numbers near ties: dividends next to a divisor times a significand with one bit too
    many."""
    half = 1 << format.fraction
    found = []
    for divisor in (half + rng.integers(0, half, count)).tolist():
        middle = int(rng.integers(half, 2 * half)) * 2 + 1
        product = divisor * middle
        dividend = product >> (product.bit_length() - format.fraction - 1)
        found.append((dividend + int(rng.integers(0, 2)), divisor))
    bias = format.bias << format.fraction
    return np.array([(bias + a - half, bias + b - half) for a, b in found], np.int64).T


def root_operands(format: FloatFormat, count: int, rng: np.random.Generator) -> Words:
    """Numbers, half of them next to squares of numbers with at most one bit too many."""
    any_words, _ = random_pairs(format, count // 2, rng)
    half = 1 << format.fraction
    found = []
    for root in rng.integers(2 * half, 4 * half, count // 2).tolist():
        square = root * root
        excess = square.bit_length() - format.fraction - 1
        significand = (square >> excess) + int(rng.integers(0, 2))
        is_odd = square.bit_length() % 2 == 0
        step = 2 * int(rng.integers(0, max(1, (format.bias - 1) // 2)))
        exponent = format.bias - step + is_odd
        found.append(((exponent - 1) << format.fraction) + significand)
    return np.concatenate([any_words, np.array(found, np.uint64)])

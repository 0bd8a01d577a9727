"""What results lose, by exact fractions, and operands at the ends of what formats hold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.formats import FixedFormat, FloatFormat, NumberFormat
from gnarl.hw.lib.operation import Operation
from tests.support.arithmetic.numbers import corners

Words = npt.NDArray[np.uint64]
Number = Fraction | float
"""A fraction; of floats also infinities and NaN."""


def number(format: NumberFormat, word: int) -> Number:
    """What a word means."""
    sign = 1 << (format.width - 1)
    if isinstance(format, FixedFormat):
        return Fraction((word ^ sign) - sign, 1 << format.fraction)
    magnitude, factor = word & ~sign, -1 if word & sign else 1
    if magnitude > format.infinity:
        return float("nan")
    if magnitude == format.infinity:
        return factor * float("inf")
    exponent, fraction = divmod(magnitude, 1 << format.fraction)
    hidden = 1 << format.fraction if exponent else 0
    scale = max(exponent, 1) - format.bias - format.fraction
    return factor * (hidden + fraction) * Fraction(2) ** scale


def lost(format: NumberFormat, operation: Operation, left: int, right: int) -> str:
    """The kind of ``gnarl.hw.lib.losses.LOSSES`` that a result of two words is; empty if it is
    none."""
    compute = {
        Operation.ADD: lambda a, b: a + b,
        Operation.SUB: lambda a, b: a - b,
        Operation.MUL: lambda a, b: a * b,
    }.get(operation)
    if compute is None:
        return ""
    a, b = number(format, left), number(format, right)
    exact = compute(float(a), float(b)) if _is_special(a) or _is_special(b) else compute(a, b)
    if not isinstance(exact, Fraction):
        return "nan" if exact != exact and a == a and b == b else ""
    if isinstance(format, FixedFormat):
        last = round(exact * (1 << format.fraction))  # half to even
        most = 1 << (format.width - 1)
        if not -most <= last < most:
            return "overflow"
        return "underflow" if last == 0 != exact else ""
    half = Fraction(2) ** (format.bias - format.fraction - 1)
    if abs(exact) >= Fraction(format.largest) + half:
        return "overflow"
    return "underflow" if 0 < abs(exact) <= Fraction(format.smallest) / 2 else ""


def _is_special(value: Number) -> bool:
    return isinstance(value, float)


def special_words(format: NumberFormat) -> Words:
    """Corners of a format; of fixed point also all powers of two."""
    if isinstance(format, FloatFormat):
        return corners(format)
    one, low = 1 << format.fraction, 1 << (format.width - 1)
    powers = {1 << bit for bit in range(format.width)}
    near = {base + step for base in (0, one >> 1, one, low) for step in (-2, -1, 0, 1, 2)}
    return np.array(sorted(word & 2 * low - 1 for word in powers | near), np.uint64)


def pairs_at_ends(
    format: NumberFormat, count: int, rng: np.random.Generator
) -> tuple[Words, Words]:
    """So many, and all pairs of corners: products that are about half of the least number and sums
    and products that are about half a unit beyond the greatest, of many first operands and the
    second ones next to what makes them so."""
    ends = special_words(format)
    left, right = (each.ravel() for each in np.meshgrid(ends, ends))
    bits = (1 << format.width) - 1
    first = rng.integers(0, 1 << format.width, count, np.uint64)
    made = [_partner(format, int(word), rng) for word in first]
    second = np.array([word & bits for word in made], np.uint64)
    return np.concatenate([left, first]), np.concatenate([right, second])


def _partner(format: NumberFormat, word: int, rng: np.random.Generator) -> int:
    """A second operand for a first one, or its neighbour; any where there is none."""
    value, kind = number(format, word), rng.integers(5)
    step, sign = int(rng.integers(-2, 3)), int(rng.integers(2)) << (format.width - 1)
    if _is_special(value) or not value or kind == 4:
        return int(rng.integers(0, 1 << format.width, dtype=np.uint64))
    largest, least = Fraction(format.largest), Fraction(format.smallest)
    half = largest - abs(number(format, int(_word_of(format, largest)) - 1))
    wanted = {
        0: least / 2 / abs(value),
        1: least * 3 / 2 / abs(value),
        2: (largest + half / 2) / abs(value),
        3: largest + half / 2 - abs(value),
    }[int(kind)]
    return max(0, _word_of(format, wanted) + step) ^ sign


def _word_of(format: NumberFormat, value: Fraction) -> int:
    """The greatest word of a magnitude that is not above a value, nor beyond the greatest one."""
    low, high = 0, (1 << format.width - 1) - 1
    if isinstance(format, FloatFormat):
        high = format.infinity - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if number(format, middle) <= value else (low, middle - 1)
    return low

"""Functions of one number, bit for bit as ``gnarl.hw.lib.functions.function`` computes them.

Reciprocal and square root are correctly rounded, so float64 gives them. The others follow the same
tables and widths (``gnarl.hw.lib.functions.numerics``) in whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.formats import FixedFormat, FloatFormat, parse_format
from gnarl.hw.lib.functions import numerics
from gnarl.hw.lib.functions.function import Function, check_function
from gnarl.hw.lib.functions.tables import Table
from gnarl.sw.golden.words import float_words, from_words

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


def apply(function: Function, words: np.ndarray, format: str) -> np.ndarray:
    """``function`` of ``words`` (uint32, any shape), as words of the same format.

    Raises ``ValueError`` for an unknown format, or one that lacks this function.
    """
    kind = parse_format(format)
    check_function(kind, function)
    if isinstance(kind, FixedFormat):
        return np.where(words >> (kind.width - 1), np.uint32(0), words)
    numbers = from_words(words, format)
    with np.errstate(all="ignore"):
        return float_words(_FUNCTIONS[function](kind, numbers), kind)


class _Parts(NamedTuple):
    """Magnitudes as ``significand`` * 2**(``exponent`` - F), with F + 1 bits of significand."""

    exponent: Integers
    significand: Integers


def _parts(format: FloatFormat, magnitude: Reals) -> _Parts:
    """Exponent and significand of finite magnitudes; subnormal ones have the least exponent and a
    smaller significand."""
    least = 1 - format.bias
    exponent = np.maximum(np.frexp(magnitude)[1].astype(np.int64) - 1, least)
    exponent = np.where(magnitude == 0, least, exponent)
    return _Parts(exponent, np.ldexp(magnitude, format.fraction - exponent).astype(np.int64))


def _polynomial(table: Table, position: Integers, piece: Integers | int = 0) -> Integers:
    """The table's values, in its units."""
    split = table.position_bits - table.segment_bits
    rows = np.array(table.rows, np.int64)[piece << table.segment_bits | position >> split]
    t = position & (1 << split) - 1
    value = rows[..., -1]
    for i in reversed(range(rows.shape[-1] - 1)):
        value = rows[..., i] + (value * t >> split)
    return value


def _shift_right(value: Integers, places: Integers) -> Integers:
    """Cuts off; more places than there are bits leave nothing."""
    return value >> np.minimum(places, 63)


def _scaled(format: FloatFormat, value: Integers, point: int, exponent: Integers | int) -> Reals:
    """``value`` / 2**``point`` * 2**``exponent``, cut to F + 5 bits after the point, the last
    sticky: exact in float64."""
    extra = point - (format.fraction + 5)
    sticky = (value & (1 << extra + 1) - 1) != 0
    kept = value >> extra & ~np.int64(1) | sticky
    return np.ldexp(kept.astype(np.float64), exponent - (format.fraction + 5))


def _power_of_e(
    format: FloatFormat, x: Reals, is_negative: np.ndarray | np.bool_
) -> tuple[Integers, Integers]:
    """e**x or e**-x for ``x`` >= 0 below the reach: exponent, and significand in units."""
    numbers = numerics.exponential(format)
    position_bits = numerics.position_bits(format)
    parts = _parts(format, x)
    product = parts.significand * numbers.factor
    point = format.fraction + numbers.factor_bits
    fixed = _shift_right(product, point - position_bits - parts.exponent)
    power = np.where(is_negative, -fixed, fixed)
    position = power & (1 << position_bits) - 1
    return power >> position_bits, _polynomial(numbers.power, position)


def _place(format: FloatFormat, parts: _Parts) -> tuple[Integers, Integers]:
    """Piece and position: piece 0 is 0 to 1, piece n is 2**(n - 1) to 2**n."""
    padded = parts.significand << numerics.position_bits(format) - format.fraction
    below_one = _shift_right(padded, np.maximum(-parts.exponent, 0))
    in_octave = padded - (1 << numerics.position_bits(format))
    is_below_one = parts.exponent < 0
    piece = np.where(is_below_one, 0, parts.exponent + 1)
    return piece, np.where(is_below_one, below_one, in_octave)


def _within(x: Reals, reach: int) -> Reals:
    """Magnitudes, with 0 in place of those for which there is no table."""
    magnitude = np.abs(x)
    return np.where(magnitude < 2.0**reach, magnitude, 0.0)


def _exp(format: FloatFormat, x: Reals) -> Reals:
    reach = numerics.exponential(format).reach
    exponent, significand = _power_of_e(format, _within(x, reach), np.signbit(x))
    value = _scaled(format, significand, numerics.unit_bits(format), exponent)
    value = np.where(x >= 2.0**reach, np.inf, np.where(x <= -(2.0**reach), 0.0, value))
    return np.where(np.isnan(x), x, value)


def _gelu(format: FloatFormat, x: Reals) -> Reals:
    numbers = numerics.tail(format)
    unit, position_bits = numerics.unit_bits(format), numerics.position_bits(format)
    parts = _parts(format, _within(x, numbers.reach))

    unused = max(0, 2 * format.fraction + 2 - numbers.square_bits)
    square = parts.significand * parts.significand >> unused
    # square * factor >> places, for at least as many places as half has: the product is too wide.
    half = numbers.factor_bits // 2
    places = 2 * format.fraction - unused + numbers.factor_bits - position_bits - 2 * parts.exponent
    low = (square & (1 << half) - 1) * numbers.factor
    high = (square >> half) * numbers.factor
    power = -_shift_right(high + (low >> half), places - half)
    significand = _polynomial(numbers.power, power & (1 << position_bits) - 1)

    piece, position = _place(format, parts)
    tail = significand * _polynomial(numbers.ratio, position, piece) >> unit
    tail_exponent = (power >> position_bits) - piece
    share = (1 << unit) - _shift_right(tail, -tail_exponent)

    is_negative = np.signbit(x)
    factor = parts.significand * np.where(is_negative, tail, share)
    exponent = parts.exponent + np.where(is_negative, tail_exponent, 0)
    value = np.copysign(_scaled(format, factor, unit + format.fraction, exponent), x)
    beyond = np.where(is_negative, -0.0, x)
    return np.where(np.isnan(x), x, np.where(np.abs(x) >= 2.0**numbers.reach, beyond, value))


def _sigmoid(format: FloatFormat, x: Reals) -> Reals:
    reach = numerics.exponential(format).reach
    unit, position_bits = numerics.unit_bits(format), numerics.position_bits(format)
    exponent, significand = _power_of_e(format, _within(x, reach), np.True_)
    small = _shift_right(significand, unit - position_bits - exponent)
    small = np.minimum(small, (1 << position_bits) - 1)
    share = _polynomial(numerics.logistic_table(format), small)

    is_negative = np.signbit(x)
    product = np.where(is_negative, significand, 1 << unit) * share
    value = _scaled(format, product, 2 * unit, np.where(is_negative, exponent, 0))
    value = np.where(np.abs(x) >= 2.0**reach, np.where(is_negative, 0.0, 1.0), value)
    return np.where(np.isnan(x), x, value)


def _tanh(format: FloatFormat, x: Reals) -> Reals:
    numbers = numerics.tangent(format)
    parts = _parts(format, _within(x, numbers.reach))
    piece, position = _place(format, parts)
    value = _polynomial(numbers.table, position, piece)
    factor = np.where(piece == 0, parts.significand, 1 << format.fraction)
    exponent = np.where(piece == 0, parts.exponent, 0)
    point = numbers.table.unit + format.fraction
    magnitude = _scaled(format, value * factor, point, exponent)
    magnitude = np.where(np.abs(x) >= 2.0**numbers.reach, 1.0, magnitude)
    return np.where(np.isnan(x), x, np.copysign(magnitude, x))


def _log(format: FloatFormat, x: Reals) -> Reals:
    numbers = numerics.logarithm(format)
    fraction_bits = format.fraction
    fraction, exponent = np.frexp(np.where((x > 0) & (x < np.inf), x, 1.0))
    fraction = np.ldexp(fraction, fraction_bits + 1).astype(np.int64) - (1 << fraction_bits)
    is_below = fraction >> fraction_bits - 1
    power = exponent.astype(np.int64) - 1 + is_below

    # m - 1, in units of 2**-(F + 1), normalised where it is the result but for the ratio.
    distance = np.where(is_below, (1 << fraction_bits) - fraction, 2 * fraction)
    bits = np.frexp(distance.astype(np.float64))[1].astype(np.int64)
    places = np.where(power == 0, fraction_bits + 1 - bits, 0)
    position = fraction & (1 << fraction_bits - 1) - 1
    position <<= numerics.position_bits(format) - (fraction_bits - 1)
    product = (distance << places) * _polynomial(numbers.ratio, position, is_below)
    product >>= fraction_bits + 1 + numbers.ratio.unit - numbers.point

    # Where the power is 0, m alone decides.
    is_negative = power < is_below
    product = np.where(is_negative == is_below, product, -product)
    total = np.abs(power) * numbers.step + product
    value = _scaled(format, total, numbers.point, -places)
    value = np.where(is_negative, -value, value)
    value = np.where(x == 0, -np.inf, np.where(x == np.inf, x, value))
    return np.where(np.isnan(x) | (x < 0), np.nan, value)


_FUNCTIONS: dict[int, Callable[[FloatFormat, Reals], Reals]] = {
    Function.RELU: lambda format, x: np.where(np.isnan(x) | (x > 0), x, 0.0),
    Function.EXP: _exp,
    Function.RECIPROCAL: lambda format, x: 1 / x,
    Function.SQRT: lambda format, x: np.sqrt(x),
    Function.GELU: _gelu,
    Function.SIGMOID: _sigmoid,
    Function.TANH: _tanh,
    Function.LOG: _log,
}

"""The numbers that the functions are computed with: widths, constants and tables of each format.

Hardware and golden model are both written from these. In what follows, F is the number of fraction
bits of the format; a *position* is a fixed-point number in [0, 1) of F + 6 bits; *units*, in which
tables have their values, are 2**-(F + 8). What doesn't fit a width is cut off, towards minus
infinity, except where a text says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from functools import cache

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.functions.tables import DIGITS, RealFunction, Table, fit

_ROOT_OF_TWO_PI = Decimal("2.50662827463100050241576528481104525300698674061")


def check_format(format: FloatFormat) -> None:
    """``ValueError`` unless the functions can be had in this format.

    With 2 bits of exponent, all below 1 would be subnormal, for which the tables aren't made.
    """
    if not (3 <= format.exponent <= 8 and 1 <= format.fraction <= 23):
        raise ValueError(f"{format}: exponent must have 3 to 8 bits, fraction 1 to 23")


def position_bits(format: FloatFormat) -> int:
    """Width of a position in [0, 1)."""
    return format.fraction + 6


def unit_bits(format: FloatFormat) -> int:
    """Values of tables are in units of two to the minus this."""
    return format.fraction + 8


@dataclass(frozen=True)
class Exponential:
    """How e**x is computed: as 2**(whole + position), where x * log2(e) = whole + position.

    ``reach``: where the magnitude of x is 2**reach or more, the result is 0, 1 or infinite.
    ``factor``: log2(e) in units of 2**-``factor_bits``. ``power``: 2**position.
    """

    reach: int
    factor: int
    factor_bits: int
    power: Table


@dataclass(frozen=True)
class Tangent:
    """How the hyperbolic tangent of x >= 0 is computed.

    ``reach``: from x = 2**reach on, it is 1. ``table``: piece 0 is tanh(x) / x at x < 1, the
    position; piece n is tanh(x) at x = 2**(n - 1) * (1 + position).
    """

    reach: int
    table: Table


@dataclass(frozen=True)
class Tail:
    """How the tail of the normal distribution beyond x >= 0 is computed: e**(-x**2 / 2) * ratio(x).

    ``reach``: from x = 2**reach on, x times the tail is 0. ``square_bits``: as many bits of the
    square of x's significand (2 * F + 2 bits) are used. ``factor``: log2(e) / 2 in units of
    2**-``factor_bits``. ``power``: 2**position. ``ratio``: piece 0 is the ratio at x < 1, the
    position; piece n is the ratio, times 2**n, at x = 2**(n - 1) * (1 + position). So it is 0.25 to
    1 everywhere.
    """

    reach: int
    square_bits: int
    factor: int
    factor_bits: int
    power: Table
    ratio: Table


@dataclass(frozen=True)
class Logarithm:
    """How the natural logarithm of x = 2**k * m is computed: as k * log(2) + (m - 1) * ratio(m).

    m is 0.75 to 1.5, so that k is 0 where the result is near 0, and it never cancels. ``step``:
    log(2) in units of 2**-``point``. ``whole_bits``: bits before the point that results need.
    ``ratio``: log(m) / (m - 1); piece 0 is at m = 1 + position / 2, piece 1 at
    m = 0.75 + position / 4.

    The ratio is in error by 4.2 units of tables at most, and by less than three more that its
    polynomial cuts off. A result in the binade from 2**-j has abs(m - 1) < 2.28 * 2**-j, and so is
    in error by 2.28 * 7.2 / 256 < 0.065 units in the last place from that, by less than 0.01 from
    products and sums, which have F + 10 bits after the point, and by 0.5 from rounding.
    """

    step: int
    point: int
    whole_bits: int
    ratio: Table


@cache
def reciprocal_table(format: FloatFormat) -> Table:
    """1 / (1 + position), near enough for F + 2 bits of it to be at most one off."""
    return _fit(format, [lambda t: 1 / (1 + t)], 2, format.fraction + 3)


@cache
def sqrt_table(format: FloatFormat) -> Table:
    """Square root of 2**piece * (1 + position): F + 2 bits of it are at most one off."""
    pieces = [lambda t: (1 + t).sqrt(), lambda t: (2 + 2 * t).sqrt()]
    return _fit(format, pieces, 2, format.fraction + 2)


@cache
def logistic_table(format: FloatFormat) -> Table:
    """1 / (1 + position), as accurate as results need it."""
    return _fit(format, [lambda t: 1 / (1 + t)], 3, format.fraction + 5)


@cache
def exponential(format: FloatFormat) -> Exponential:
    with localcontext(prec=DIGITS):
        to_binary = 1 / Decimal(2).ln()
        reach = _least(lambda n: 2**n * to_binary >= _binades(format))
        factor_bits = reach + position_bits(format) + 1
        factor = _nearest(to_binary * 2**factor_bits)
    return Exponential(reach, factor, factor_bits, _power_table(format))


@cache
def tangent(format: FloatFormat) -> Tangent:
    with localcontext(prec=DIGITS):
        reach = _least(lambda n: 1 - _tanh(Decimal(2) ** n) < Decimal(2) ** -(format.fraction + 3))
    pieces: list[RealFunction] = [lambda x: _tanh(x) / x if x else Decimal(1)]
    pieces += _octaves(_tanh, reach)
    return Tangent(reach, _fit(format, pieces, 3, format.fraction + 5))


@cache
def tail(format: FloatFormat) -> Tail:
    with localcontext(prec=DIGITS):
        to_binary = 1 / Decimal(4).ln()
        reach = _least(lambda n: 4**n * to_binary >= _binades(format))
        bits = format.fraction + 13
        factor = _nearest(to_binary * 2**bits)
    # From one octave to the next, the ratio falls to half and a little more.
    pieces: list[RealFunction] = [_tail_ratio]
    for n, piece in enumerate(_octaves(_tail_ratio, reach), start=1):
        pieces.append(lambda t, piece=piece, scale=2**n: scale * piece(t))  # type: ignore[misc]
    ratio = _fit(format, pieces, 3, format.fraction + 6)
    return Tail(reach, bits, factor, bits, _power_table(format), ratio)


@cache
def logarithm(format: FloatFormat) -> Logarithm:
    point = format.fraction + 10
    with localcontext(prec=DIGITS):
        step = Decimal(2).ln()
        whole_bits = int((format.bias + format.fraction) * step).bit_length()
        units = _nearest(step * 2**point)
    pieces: list[RealFunction] = [
        lambda t: _logarithm_ratio(t / 2),
        lambda t: _logarithm_ratio((t - 1) / 4),
    ]
    return Logarithm(units, point, whole_bits, _fit(format, pieces, 3, format.fraction + 6))


@cache
def _power_table(format: FloatFormat) -> Table:
    return _fit(format, [lambda t: (t * Decimal(2).ln()).exp()], 2, format.fraction + 5)


def _fit(format: FloatFormat, pieces: list[RealFunction], degree: int, accuracy: int) -> Table:
    return fit(pieces, degree, position_bits(format), unit_bits(format), accuracy)


def _binades(format: FloatFormat) -> int:
    """More than the binary logarithm of any number of the format, with the sign of either."""
    return format.bias + format.fraction + 3


def _least(holds: Callable[[int], bool]) -> int:
    """The least whole number, from 0, for which it holds."""
    n = 0
    while not holds(n):
        n += 1
    return n


def _octaves(function: RealFunction, count: int) -> list[RealFunction]:
    """The function at 1 to 2, 2 to 4 and so on, of the position in there."""
    return [lambda t, low=2**n: function(low * (1 + t)) for n in range(count)]  # type: ignore[misc]


def _tanh(x: Decimal) -> Decimal:
    squared = (-2 * x).exp()
    return (1 - squared) / (1 + squared)


def _logarithm_ratio(distance: Decimal) -> Decimal:
    """log(1 + distance) / distance."""
    return (1 + distance).ln() / distance if distance else Decimal(1)


def _tail_ratio(x: Decimal) -> Decimal:
    """e**(x**2 / 2) times the normal distribution's tail beyond ``x`` >= 0.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.11 (series) and 26.2.14
    (continued fraction).
    """
    if x < 3:
        term = total = x
        n = 1
        while abs(term) > Decimal(10) ** -DIGITS:
            n += 2
            term = term * x * x / n
            total += term
        return (x * x / 2).exp() / 2 - total / _ROOT_OF_TWO_PI
    below = x
    for n in reversed(range(1, 80)):
        below = x + n / below
    return 1 / (below * _ROOT_OF_TWO_PI)


def _nearest(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_HALF_EVEN))

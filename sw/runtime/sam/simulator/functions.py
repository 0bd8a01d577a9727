"""Functions of one number, on words: bit for bit those of ``gnarl.sw.golden.functions``, after the
same numbers and tables (``gnarl.hw.lib.functions.numerics``)."""

from __future__ import annotations

import math

import numpy as np

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sam.block_types import FUNCTIONS
from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.layout import EXPONENT, FIXED, FORMAT, FRACTION, WIDTH
from gnarl.sw.runtime.sam.simulator.numbers import from_float, to_float

RELU, EXP, RECIPROCAL, SQRT, GELU, SIGMOID, TANH, LOG = range(len(FUNCTIONS))
"""Functions, in the order of ``gnarl.hw.sam.block_types.FUNCTIONS``."""

_REACH, _FACTOR, _FACTOR_BITS, _SQUARE_BITS, _FIRST, _SECOND = range(6)
"""Fields of the numbers of a function: the last two are where its tables begin, counted from the
first field."""
_STEP, _POINT, _UNIT = _FACTOR, _FACTOR_BITS, _SQUARE_BITS
"""What these are for logarithms."""

_POSITION_BITS, _SEGMENT_BITS, _COEFFICIENTS, _ROWS = range(4)
"""Fields of a table, before its rows."""

_NO_SHIFT = 63


def numbers_of(operation: str, format: FloatFormat) -> list[int]:
    """The numbers of a function of the transcendental ones, for ``function``."""
    # Tables take a while to make, and few graphs need them.
    from gnarl.hw.lib.functions import numerics
    from gnarl.hw.lib.functions.tables import Table

    tables: tuple[Table, ...]
    match operation:
        case "exp" | "sigmoid":
            power = numerics.exponential(format)
            fields = [power.reach, power.factor, power.factor_bits, 0]
            tables = power.power, numerics.logistic_table(format)
        case "tanh":
            tangent = numerics.tangent(format)
            fields, tables = [tangent.reach, 0, tangent.table.unit, 0], (tangent.table,)
        case "gelu":
            tail = numerics.tail(format)
            fields = [tail.reach, tail.factor, tail.factor_bits, tail.square_bits]
            tables = tail.power, tail.ratio
        case "log":
            logarithm = numerics.logarithm(format)
            fields = [0, logarithm.step, logarithm.point, logarithm.ratio.unit]
            tables = (logarithm.ratio,)
        case _:
            return []
    numbers = [*fields, 0, 0]
    for place, table in zip((_FIRST, _SECOND), tables, strict=False):
        numbers[place] = len(numbers)
        numbers += [table.position_bits, table.segment_bits, len(table.rows[0])]
        numbers += [coefficient for row in table.rows for coefficient in row]
    return numbers


@inner_integers
def function(s: np.ndarray, operation: int, numbers: int, word: int) -> int:
    """A function of a word of the machine's format; ``numbers``: where ``numbers_of`` it lie."""
    if s[FORMAT] == FIXED:
        return 0 if word >> s[WIDTH] - 1 else word
    x = to_float(s, word)
    if operation == RELU:
        return from_float(s, x if x != x or x > 0 else 0.0)
    if operation == RECIPROCAL:
        return from_float(s, 1 / x if x else math.copysign(math.inf, x))
    if operation == SQRT:
        return from_float(s, math.nan if x < 0 else math.sqrt(x))
    if operation == LOG:
        return from_float(s, _log(s, numbers, x))
    reach = math.ldexp(1.0, s[numbers + _REACH])
    is_within = abs(x) < reach
    magnitude = word & (1 << s[WIDTH] - 1) - 1 if is_within else 0
    exponent = max(magnitude >> s[FRACTION], 1) - (1 << s[EXPONENT] - 1) + 1
    significand = magnitude & (1 << s[FRACTION]) - 1
    significand |= (magnitude >> s[FRACTION] != 0) << s[FRACTION]
    if x != x:
        value = x
    elif operation == EXP:
        value = _exp(s, numbers, x, is_within, exponent, significand)
    elif operation == SIGMOID:
        value = _sigmoid(s, numbers, x, is_within, exponent, significand)
    elif operation == TANH:
        value = _tanh(s, numbers, x, is_within, exponent, significand)
    else:
        value = _gelu(s, numbers, x, is_within, exponent, significand)
    return from_float(s, value)


@inner_integers
def _polynomial(s: np.ndarray, table: int, position: int, piece: int) -> int:
    """The table's value, in its units."""
    split = s[table + _POSITION_BITS] - s[table + _SEGMENT_BITS]
    row = piece << s[table + _SEGMENT_BITS] | position >> split
    count = s[table + _COEFFICIENTS]
    first = table + _ROWS + row * count
    t = position & (1 << split) - 1
    value = s[first + count - 1]
    for place in range(count - 2, -1, -1):
        value = s[first + place] + (value * t >> split)
    return value


@inner_integers
def _shift_right(value: int, places: int) -> int:
    return value >> min(places, _NO_SHIFT)


@inner_integers
def _scaled(s: np.ndarray, value: int, point: int, exponent: int) -> float:
    """``value`` / 2**``point`` * 2**``exponent``, cut to F + 5 bits after the point, the last
    sticky."""
    extra = point - (s[FRACTION] + 5)
    sticky = (value & (1 << extra + 1) - 1) != 0
    kept = value >> extra & ~1 | sticky
    return math.ldexp(float(kept), exponent - (s[FRACTION] + 5))


@inner_integers
def _power_of_e(
    s: np.ndarray, numbers: int, x: float, exponent: int, significand: int
) -> tuple[int, int]:
    """e**x: exponent, and significand in units."""
    position_bits = s[FRACTION] + 6
    point = s[FRACTION] + s[numbers + _FACTOR_BITS]
    product = significand * s[numbers + _FACTOR]
    fixed = _shift_right(product, point - position_bits - exponent)
    power = -fixed if math.copysign(1.0, x) < 0 else fixed
    position = power & (1 << position_bits) - 1
    return power >> position_bits, _polynomial(s, numbers + s[numbers + _FIRST], position, 0)


@inner_integers
def _exp(
    s: np.ndarray, numbers: int, x: float, is_within: bool, exponent: int, significand: int
) -> float:
    if not is_within:
        return math.inf if x > 0 else 0.0
    power, value = _power_of_e(s, numbers, x, exponent, significand)
    return _scaled(s, value, s[FRACTION] + 8, power)


@inner_integers
def _sigmoid(
    s: np.ndarray, numbers: int, x: float, is_within: bool, exponent: int, significand: int
) -> float:
    is_negative = math.copysign(1.0, x) < 0
    if not is_within:
        return 0.0 if is_negative else 1.0
    unit, position_bits = s[FRACTION] + 8, s[FRACTION] + 6
    power, value = _power_of_e(s, numbers, -abs(x), exponent, significand)
    small = _shift_right(value, unit - position_bits - power)
    small = min(small, (1 << position_bits) - 1)
    share = _polynomial(s, numbers + s[numbers + _SECOND], small, 0)
    product = (value if is_negative else 1 << unit) * share
    return _scaled(s, product, 2 * unit, power if is_negative else 0)


@inner_integers
def _place(s: np.ndarray, exponent: int, significand: int) -> tuple[int, int]:
    """Piece and position: piece 0 is 0 to 1, piece n is 2**(n - 1) to 2**n."""
    padded = significand << 6
    if exponent < 0:
        return 0, _shift_right(padded, -exponent)
    return exponent + 1, padded - (1 << s[FRACTION] + 6)


@inner_integers
def _tanh(
    s: np.ndarray, numbers: int, x: float, is_within: bool, exponent: int, significand: int
) -> float:
    if not is_within:
        return math.copysign(1.0, x)
    piece, position = _place(s, exponent, significand)
    value = _polynomial(s, numbers + s[numbers + _FIRST], position, piece)
    factor = 1 << s[FRACTION] if piece else significand
    point = s[numbers + _FACTOR_BITS] + s[FRACTION]
    return math.copysign(_scaled(s, value * factor, point, 0 if piece else exponent), x)


@inner_integers
def _gelu(
    s: np.ndarray, numbers: int, x: float, is_within: bool, exponent: int, significand: int
) -> float:
    is_negative = math.copysign(1.0, x) < 0
    if not is_within:
        return -0.0 if is_negative else x
    fraction = s[FRACTION]
    unit, position_bits = fraction + 8, fraction + 6
    unused = max(0, 2 * fraction + 2 - s[numbers + _SQUARE_BITS])
    square = significand * significand >> unused
    factor, factor_bits = s[numbers + _FACTOR], s[numbers + _FACTOR_BITS]
    half = factor_bits // 2
    places = 2 * fraction - unused + factor_bits - position_bits - 2 * exponent
    low = (square & (1 << half) - 1) * factor
    high = (square >> half) * factor
    power = -_shift_right(high + (low >> half), places - half)
    position = power & (1 << position_bits) - 1
    value = _polynomial(s, numbers + s[numbers + _FIRST], position, 0)
    piece, position = _place(s, exponent, significand)
    ratio = _polynomial(s, numbers + s[numbers + _SECOND], position, piece)
    tail_exponent = (power >> position_bits) - piece
    tail = value * ratio >> unit
    if is_negative:
        return -_scaled(s, significand * tail, unit + fraction, exponent + tail_exponent)
    share = (1 << unit) - _shift_right(tail, -tail_exponent)
    return _scaled(s, significand * share, unit + fraction, exponent)


@inner_integers
def _log(s: np.ndarray, numbers: int, x: float) -> float:
    if x != x or x < 0:
        return math.nan
    if x == 0 or x == math.inf:
        return -math.inf if x == 0 else x
    bits = s[FRACTION]
    half, exponent = math.frexp(x)
    fraction = np.int64(math.ldexp(half, bits + 1)) - (1 << bits)
    is_below = fraction >> bits - 1
    power = exponent - 1 + is_below
    # m - 1, in units of 2**-(F + 1), normalised where it is the result but for the ratio.
    distance = (1 << bits) - fraction if is_below else 2 * fraction
    places = bits + 1 - math.frexp(float(distance))[1] if power == 0 else 0
    position = (fraction & (1 << bits - 1) - 1) << 7
    point = s[numbers + _POINT]
    ratio = _polynomial(s, numbers + s[numbers + _FIRST], position, is_below)
    product = (distance << places) * ratio >> bits + 1 + s[numbers + _UNIT] - point
    is_negative = power < is_below
    if is_negative != (is_below != 0):
        product = -product
    value = _scaled(s, abs(power) * s[numbers + _STEP] + product, point, -places)
    return -value if is_negative else value

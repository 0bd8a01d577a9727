"""What iterative floating-point datapaths have in common.

An operand is decoded as it is taken, and normalised in the cycle after; then come digits.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Shape, Value, signed
from gnarl.hw.lib.cut_points import CutPoints
from gnarl.hw.lib.float.parts import (
    FINISH_DEPTHS,
    Pending,
    exponent_bits,
    finish_normalised,
    normalise,
)
from gnarl.hw.lib.formats import FloatFormat

_ROUNDING_DEPTHS = (3, *FINISH_DEPTHS[2:])


def exponent_shape(format: FloatFormat) -> Shape:
    """Shape of the exponents of a quotient and of normalised operands: more than ``finish`` needs
    where a format has many more bits of fraction than its least exponent is below 0."""
    return signed(exponent_bits(format, format.fraction + 3) + 1)


def normalise_significand(m: Module, significand: Value, exponent: Value) -> tuple[Value, Value]:
    """The same number with the top bit set, unless it is zero."""
    distances = [1 << i for i in reversed(range((len(significand) - 1).bit_length()))]
    return normalise(m, significand, exponent, distances)


def round_digits(
    m: Module, format: FloatFormat, pending: Pending, digits: Value, remainder: Value
) -> Value:
    """The result, two cycles after its digits: fraction + 2 or more, behind at most one that is 0.
    All are 0, and the remainder, where the result is."""
    magnitude, exponent = normalise(m, Cat(remainder.any(), digits), pending.exponent, [1])
    cut = CutPoints(m, len(_ROUNDING_DEPTHS) - 1, _ROUNDING_DEPTHS)
    return finish_normalised(m, cut, format, pending._replace(exponent=exponent), magnitude)

"""Steps that floating-point units have in common. Source: IEEE 754-2019, clauses 3, 4.3 and 6.

A unit computes the magnitude of its result, exact or with a sticky lowest bit, of which ``finish``
makes the rounded result.
"""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from gnarl.hw.lib.cut_points import CutPoints, named
from gnarl.hw.lib.formats import FloatFormat

FINISH_DEPTHS = (9, 9, 11, 6)
"""Logic depths of the steps of ``finish``, for ``CutPoints``: ns of float32 on an ECP5, roughly."""


class Operand(NamedTuple):
    """A decoded operand. ``exponent`` is 1 for subnormals; ``significand`` has the hidden bit."""

    sign: Value
    exponent: Value
    significand: Value
    is_nan: Value
    is_infinite: Value
    is_zero: Value


class Pending(NamedTuple):
    """What is known of a result beside its magnitude.

    ``exponent`` is signed, of ``exponent_bits``: one less than the biased exponent that the result
    has if the magnitude's top bit is set; it may be far out of range, up or down. Where
    ``is_bypassed``, the result is ``bypass`` whatever the rest says.
    """

    sign: Value
    exponent: Value
    is_bypassed: Value
    bypass: Value


def check_float(format: FloatFormat) -> None:
    """``ValueError`` unless the widths are those of a ``FloatFormat``."""
    if not (2 <= format.exponent <= 11 and 1 <= format.fraction <= 52):
        raise ValueError(f"{format}: exponent must have 2 to 11 bits, fraction 1 to 52")


def decode(m: Module, format: FloatFormat, bits: Value, name: str) -> Operand:
    """Splits ``bits`` into what arithmetic needs; ``name`` begins the names of its signals."""
    fraction = bits[: format.fraction]
    exponent = bits[format.fraction : -1]
    is_normal = named(m, f"{name}_is_normal", exponent.any())
    is_top = named(m, f"{name}_is_top", exponent.all())
    has_fraction = named(m, f"{name}_has_fraction", fraction.any())
    return Operand(
        sign=bits[-1],
        exponent=named(m, f"{name}_exponent", Cat(exponent[0] | ~is_normal, exponent[1:])),
        significand=named(m, f"{name}_significand", Cat(fraction, is_normal)),
        is_nan=named(m, f"{name}_is_nan", is_top & has_fraction),
        is_infinite=named(m, f"{name}_is_infinite", is_top & ~has_fraction),
        is_zero=named(m, f"{name}_is_zero", ~is_normal & ~has_fraction),
    )


def special(format: FloatFormat, is_nan: Value, sign: Value) -> Value:
    """The canonical NaN, or else the infinity of ``sign``."""
    top = Const((1 << format.exponent) - 1, format.exponent)
    below = Const(0, format.fraction - 1)
    return Cat(below, is_nan, top, sign & ~is_nan)


def at_most(value: Value, bits: int) -> Value:
    """``value``, or all ones where it needs more than ``bits`` bits."""
    if len(value) <= bits:
        return value
    return Mux(value[bits:].any(), Const((1 << bits) - 1, bits), value[:bits])


def shift_right(m: Module, value: Value, amount: Value, name: str) -> tuple[Value, Value]:
    """``value`` shifted right, in its own width; whether a bit that is set falls off."""
    lost = Const(0, 1)
    for bit in reversed(range(len(amount))):
        falls = amount[bit] & value[: 1 << bit].any()
        lost = named(m, f"{name}_lost_{bit}", lost | falls)
        moved = Cat(value[1 << bit :], Const(0, 1 << bit))[: len(value)]
        value = named(m, f"{name}_{bit}", Mux(amount[bit], moved, value))
    return value, lost


def shift_right_sticky(m: Module, value: Value, amount: Value, name: str) -> Signal:
    """``value`` shifted right; bit 0 of the result, sticky, gathers itself and what falls off."""
    shifted, lost = shift_right(m, value, amount, name)
    return named(m, name, Cat(shifted[0] | lost, shifted[1:]))


def shift_left(m: Module, value: Value, amount: Value, name: str) -> Value:
    """``value`` shifted left, in its own width."""
    for bit in reversed(range(len(amount))):
        moved = Cat(Const(0, 1 << bit), value)[: len(value)]
        value = named(m, f"{name}_{bit}", Mux(amount[bit], moved, value))
    return value


def leading_zeros(m: Module, value: Value) -> Value:
    """How many of the highest bits are 0, of ``value`` filled up with zeros to 2**n bits.

    A number of n bits; for 0 its greatest.
    """
    missing = (1 << (len(value) - 1).bit_length()) - len(value)
    _, zeros = _any_and_zeros(m, Cat(Const(0, missing), value), "zeros")
    return zeros


def _any_and_zeros(m: Module, value: Value, name: str) -> tuple[Value, Value]:
    """Whether a bit of 2**n bits is set, n > 0, and the leading zeros as in ``leading_zeros``."""
    half = len(value) // 2
    low, high = value[:half], value[half:]
    if half == 1:
        return value.any(), ~high
    low_set, low_zeros = _any_and_zeros(m, low, f"{name}_0")
    high_set, high_zeros = _any_and_zeros(m, high, f"{name}_1")
    zeros = Cat(Mux(high_set, high_zeros, low_zeros), ~high_set)
    return named(m, f"{name}_any", low_set | high_set), named(m, name, zeros)


def clamp(value: Value, bits: int) -> Value:
    """A signed value as a number of ``bits`` bits: 0 if below, all ones if it needs more."""
    return Mux(value < 0, 0, at_most(value[:-1], bits))


def normalise(
    m: Module, magnitude: Value, exponent: Value, distances: list[int]
) -> tuple[Value, Value]:
    """Shifts left by each distance in turn if as many top bits are zero; counts the exponent down.

    With the powers of two from the highest below len(magnitude) to 1, a magnitude that isn't zero
    ends with its top bit set: a leading-zero count and a shift in one.
    """
    if not distances:
        return magnitude, exponent
    shifts = []
    for distance in distances:
        is_empty = named(m, f"empty_{distance}", ~magnitude[-distance:].any())
        moved = Cat(Const(0, distance), magnitude[:-distance])
        magnitude = named(m, f"normalised_{distance}", Mux(is_empty, moved, magnitude))
        shifts.append(is_empty)
    lowest = (distances[-1]).bit_length() - 1
    count = Cat(Const(0, lowest), *reversed(shifts))
    left = named(m, f"exponent_{distances[-1]}", exponent - count, signed(len(exponent)))
    return magnitude, left


def exponent_bits(format: FloatFormat, magnitude_bits: int) -> int:
    """Width of the signed exponent that ``finish`` takes: no step of it can overflow."""
    return max(format.exponent + 2, (2 * magnitude_bits + format.bias).bit_length() + 1)


def as_exponent(m: Module, format: FloatFormat, value: Value, magnitude_bits: int) -> Signal:
    """``value`` in the width and sign that ``Pending`` has for a magnitude of that many bits."""
    return named(m, "exponent", value, signed(exponent_bits(format, magnitude_bits)))


def finish(
    m: Module, cut: CutPoints, format: FloatFormat, pending: Pending, magnitude: Value
) -> Value:
    """The result, rounded once to nearest, ties to even; goes through four cut points.

    ``magnitude`` has at least fraction + 3 bits, the lowest of which may be sticky; zero gives a
    zero of the pending sign.
    """
    distances = [1 << i for i in reversed(range((len(magnitude) - 1).bit_length()))]
    wide = (len(distances) + 1) // 3  # slower: they look at more bits
    magnitude, exponent = normalise(m, magnitude, pending.exponent, distances[:wide])
    s = cut(pending=pending._replace(exponent=exponent), magnitude=magnitude)

    magnitude, exponent = normalise(m, s.magnitude, s.pending.exponent, distances[wide:])
    return finish_normalised(m, cut, format, s.pending._replace(exponent=exponent), magnitude)


def finish_normalised(
    m: Module, cut: CutPoints, format: FloatFormat, pending: Pending, magnitude: Value
) -> Value:
    """Finishes as ``finish`` does, where the magnitude's top bit is set or it is zero; three cut
    points."""
    fraction = format.fraction
    kept = Cat(magnitude[: -(fraction + 2)].any(), magnitude[-(fraction + 2) :])
    s = cut(pending=pending, kept=kept)

    # A normal result has an exponent >= 0 here, its field's value - 1; others go down to field 0.
    exponent = s.pending.exponent
    bits = (fraction + 3).bit_length()
    below = at_most(named(m, "below", (-exponent)[: len(exponent)]), bits)
    distance = named(m, "distance", Mux(exponent < 0, below, 0))
    significand = shift_right_sticky(m, s.kept, distance, "significand")
    round_up = significand[1] & (significand[0] | significand[2])
    is_normal = significand[-1]
    field = named(m, "field", (exponent + 1)[: len(exponent)])
    infinity = (1 << format.exponent) - 1
    overflows = named(m, "overflows", is_normal & (field >= infinity))
    finite = Cat(significand[2:-1], Mux(is_normal, field[: format.exponent], 0))
    number = Mux(overflows, Cat(Const(0, fraction), Const(infinity, format.exponent)), finite)
    s = cut(
        sign=s.pending.sign,
        number=named(m, "number", number),
        round_up=named(m, "round_up", round_up & ~overflows),
        is_bypassed=s.pending.is_bypassed,
        bypass=s.pending.bypass,
    )

    rounded = named(m, "rounded", (s.number + s.round_up)[: len(s.number)])
    result = named(m, "result", Mux(s.is_bypassed, s.bypass, Cat(rounded, s.sign)))
    return cut(o=result).o

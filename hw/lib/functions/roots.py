"""Reciprocal and square root, correctly rounded.

A table gives the significand of the result to within one unit of its last place but one; the
remainder, which is computed exactly, tells which way it errs, and whether anything is left.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Value
from gnarl.hw.lib.cut_points import CutPoints, named
from gnarl.hw.lib.float.parts import (
    FINISH_DEPTHS,
    Pending,
    as_exponent,
    decode,
    finish,
    normalise,
    special,
)
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.functions.numerics import position_bits, reciprocal_table, sqrt_table, unit_bits
from gnarl.hw.lib.functions.steps import add, look_up, multiply, value_of, zero
from gnarl.hw.lib.products import partial_products, sum_of

RECIPROCAL_DEPTHS = [6, 6, 6, 6, *[6] * 6, 8, *FINISH_DEPTHS]
SQRT_DEPTHS = RECIPROCAL_DEPTHS


def compute_reciprocal(m: Module, format: FloatFormat, stages: int, bits: Value) -> Value:
    """1 / x."""
    F = format.fraction
    table = reciprocal_table(format)
    cut = CutPoints(m, stages, RECIPROCAL_DEPTHS)

    x = decode(m, format, bits, "x")
    limit = Mux(x.is_infinite, zero(format, x.sign), special(format, x.is_nan, x.sign))
    result = Pending(
        sign=x.sign,
        exponent=as_exponent(m, format, x.exponent, F + 4),
        is_bypassed=x.is_nan | x.is_infinite | x.is_zero,
        bypass=named(m, "bypass", limit),
    )
    s = cut(pending=result, significand=x.significand)

    wide, narrow = _distances(F + 1)
    significand, biased = normalise(m, s.significand, s.pending.exponent, wide)
    s = cut(pending=s.pending._replace(exponent=biased), significand=significand)
    significand, biased = normalise(m, s.significand, s.pending.exponent, narrow)
    exponent = as_exponent(m, format, 2 * format.bias - 1 - biased, F + 4)
    s = cut(pending=s.pending._replace(exponent=exponent), significand=significand)

    terms = look_up(m, table, None, _position(format, s.significand), "reciprocal")
    s = cut(pending=s.pending, significand=s.significand, terms=terms)
    multiplied = multiply(m, s.terms, "reciprocal")
    s = cut(pending=s.pending, significand=s.significand, terms=multiplied)
    terms = add(m, s.terms, "reciprocal")
    s = cut(pending=s.pending, significand=s.significand, terms=terms)
    multiplied = multiply(m, s.terms, "reciprocal")
    s = cut(pending=s.pending, significand=s.significand, terms=multiplied)
    value = value_of(add(m, s.terms, "reciprocal"), format)
    quotient = named(m, "quotient", value[unit_bits(format) - (F + 2) :][: F + 3])
    s = cut(pending=s.pending, significand=s.significand, quotient=quotient)

    product = partial_products(m, s.quotient, s.significand, "product")
    s = cut(pending=s.pending, significand=s.significand, quotient=s.quotient, product=product)

    # 2**(2F + 2) - quotient * significand, of which the lowest F + 3 bits say everything.
    remainder = named(m, "remainder", (-sum_of(s.product))[: F + 3].as_signed())
    s = cut(pending=s.pending, significand=s.significand, quotient=s.quotient, remainder=remainder)

    is_low = named(m, "is_low", s.remainder >= s.significand)
    is_high = named(m, "is_high", s.remainder < 0)
    is_exact = ~s.remainder.any() | (s.remainder == s.significand)
    exact = (s.quotient + is_low - is_high)[: F + 3]
    s = cut(pending=s.pending, magnitude=named(m, "exact", Cat(~is_exact, exact)))

    return finish(m, cut, format, s.pending, s.magnitude)


def compute_sqrt(m: Module, format: FloatFormat, stages: int, bits: Value) -> Value:
    """The square root of x; that of -0 is -0, that of what is below is NaN."""
    F = format.fraction
    table = sqrt_table(format)
    cut = CutPoints(m, stages, SQRT_DEPTHS)

    x = decode(m, format, bits, "x")
    is_nan = named(m, "is_nan", x.is_nan | (x.sign & ~x.is_zero))
    limit = Mux(x.is_zero, zero(format, x.sign), special(format, is_nan, Const(0)))
    result = Pending(
        sign=Const(0),
        exponent=as_exponent(m, format, x.exponent, F + 4),
        is_bypassed=is_nan | x.is_infinite | x.is_zero,
        bypass=named(m, "bypass", limit),
    )
    s = cut(pending=result, significand=x.significand)

    wide, narrow = _distances(F + 1)
    significand, biased = normalise(m, s.significand, s.pending.exponent, wide)
    s = cut(pending=s.pending._replace(exponent=biased), significand=significand)
    significand, biased = normalise(m, s.significand, s.pending.exponent, narrow)
    power = named(m, "power", biased - format.bias)
    exponent = as_exponent(m, format, power.shift_right(1) + format.bias - 1, F + 4)
    s = cut(pending=s.pending._replace(exponent=exponent), significand=significand, is_odd=power[0])

    terms = look_up(m, table, s.is_odd, _position(format, s.significand), "sqrt")
    s = cut(pending=s.pending, significand=s.significand, is_odd=s.is_odd, terms=terms)
    # Of the radicand, in the remainder's units, F + 6 bits say everything.
    radicand = Cat(Const(0, F + 2), Mux(s.is_odd, Cat(Const(0, 1), s.significand), s.significand))
    s = cut(
        pending=s.pending,
        radicand=named(m, "radicand", radicand[: F + 6]),
        terms=multiply(m, s.terms, "sqrt"),
    )
    s = cut(pending=s.pending, radicand=s.radicand, terms=add(m, s.terms, "sqrt"))
    s = cut(pending=s.pending, radicand=s.radicand, terms=multiply(m, s.terms, "sqrt"))
    value = value_of(add(m, s.terms, "sqrt"), format)
    root = named(m, "root", value[unit_bits(format) - (F + 1) :][: F + 3])
    s = cut(pending=s.pending, radicand=s.radicand, root=root)

    square = partial_products(m, s.root, s.root, "square")
    s = cut(pending=s.pending, root=s.root, radicand=s.radicand, square=square)

    remainder = named(m, "remainder", (s.radicand - sum_of(s.square))[: F + 6].as_signed())
    s = cut(pending=s.pending, root=s.root, remainder=remainder)

    # (root + 1)**2 is the square + 2 * root + 1, and (root - 1)**2 is it - 2 * root + 1.
    is_low = named(m, "is_low", s.remainder > 2 * s.root)
    is_high = named(m, "is_high", s.remainder < 0)
    is_exact = (
        ~s.remainder.any()
        | (is_low & (s.remainder == 2 * s.root + 1))
        | (is_high & (s.remainder == 1 - 2 * s.root))
    )
    exact = (s.root + is_low - is_high)[: F + 2]
    s = cut(pending=s.pending, magnitude=named(m, "exact", Cat(~is_exact, exact)))

    return finish(m, cut, format, s.pending, s.magnitude)


def _position(format: FloatFormat, significand: Value) -> Value:
    """The fraction of a normalised significand."""
    return Cat(Const(0, position_bits(format) - format.fraction), significand[:-1])


def _distances(bits: int) -> tuple[list[int], list[int]]:
    """How far ``normalise`` shifts, for that many bits, in two steps that take as long."""
    distances = [1 << i for i in reversed(range((bits - 1).bit_length()))]
    return distances[:2], distances[2:]

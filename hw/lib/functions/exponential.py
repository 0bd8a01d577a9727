"""e**x and the logistic function 1 / (1 + e**-x)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Value
from gnarl.hw.lib.cut_points import CutPoints, named
from gnarl.hw.lib.float.parts import FINISH_DEPTHS, Operand, at_most, decode, finish, special
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.functions.numerics import (
    Exponential,
    exponential,
    logistic_table,
    position_bits,
    unit_bits,
)
from gnarl.hw.lib.functions.steps import (
    add,
    condense,
    is_beyond,
    look_up,
    multiply,
    one,
    pending,
    value_of,
    zero,
)
from gnarl.hw.lib.products import partial_products, sum_products

_POWER_DEPTHS = [8, 6, 8, 8, 6, 6, 6, 6]
"""Up to the sum of the polynomial."""

EXP_DEPTHS = [*_POWER_DEPTHS, 7, *FINISH_DEPTHS]
SIGMOID_DEPTHS = [*_POWER_DEPTHS, 6, 8, 6, *[6] * 6, 6, 7, *FINISH_DEPTHS]


class Power(NamedTuple):
    """Two to some power: ``whole``, signed, and ``position`` of it."""

    whole: Value
    position: Value


def compute_exp(m: Module, format: FloatFormat, stages: int, bits: Value) -> Value:
    """e**x.

    x * log2(e), in F + 6 bits after the point, is split into a whole number, the exponent of the
    result, and a position, which the table makes the significand of.
    """
    cut = CutPoints(m, stages, EXP_DEPTHS)

    x = decode(m, format, bits, "x")
    limit = Mux(x.sign, zero(format, Const(0)), special(format, Const(0), Const(0)))
    s = _to_power_of_two(m, cut, format, x, is_negative=x.sign, limit=limit)

    terms = look_up(m, exponential(format).power, None, s.power.position, "power")
    exponent = s.power.whole + format.bias
    waiting = pending(m, format, exponent, Const(0), s.is_bypassed, s.bypass)
    s = cut(pending=waiting, terms=terms)
    s = cut(pending=s.pending, terms=multiply(m, s.terms, "power"))
    s = cut(pending=s.pending, terms=add(m, s.terms, "power"))
    s = cut(pending=s.pending, terms=multiply(m, s.terms, "power"))
    value = value_of(add(m, s.terms, "power"), format)
    s = cut(pending=s.pending, magnitude=condense(m, format, value, unit_bits(format)))

    return finish(m, cut, format, s.pending, s.magnitude)


def compute_sigmoid(m: Module, format: FloatFormat, stages: int, bits: Value) -> Value:
    """1 / (1 + e**-x).

    With u = e**-|x|, which is at most 1, it is 1 / (1 + u) for x >= 0 and u / (1 + u) for x < 0.
    """
    unit = unit_bits(format)
    cut = CutPoints(m, stages, SIGMOID_DEPTHS)

    x = decode(m, format, bits, "x")
    limit = Mux(x.sign, zero(format, Const(0)), one(format, Const(0)))
    s = _to_power_of_two(m, cut, format, x, is_negative=Const(1), limit=limit)

    terms = look_up(m, exponential(format).power, None, s.power.position, "power")
    exponent = format.bias + Mux(s.sign, s.power.whole, 0)
    waiting = pending(m, format, exponent, Const(0), s.is_bypassed, s.bypass)
    s = cut(pending=waiting, sign=s.sign, whole=s.power.whole, terms=terms)
    s = cut(pending=s.pending, sign=s.sign, whole=s.whole, terms=multiply(m, s.terms, "power"))
    s = cut(pending=s.pending, sign=s.sign, whole=s.whole, terms=add(m, s.terms, "power"))
    s = cut(pending=s.pending, sign=s.sign, whole=s.whole, terms=multiply(m, s.terms, "power"))
    significand = value_of(add(m, s.terms, "power"), format)
    s = cut(pending=s.pending, sign=s.sign, whole=s.whole, significand=significand)

    # u as a position; 1 itself counts as the last one.
    distance = named(m, "distance", (-s.whole)[: len(s.whole)])
    places = at_most(distance, (unit + 2).bit_length())
    fixed = named(m, "fixed", (s.significand >> places)[unit - position_bits(format) :])
    position = named(m, "small", at_most(fixed, position_bits(format)))
    factor = named(m, "factor", Mux(s.sign, s.significand, 1 << unit))
    s = cut(pending=s.pending, factor=factor, position=position)

    terms = look_up(m, logistic_table(format), None, s.position, "logistic")
    s = cut(pending=s.pending, factor=s.factor, terms=terms)
    s = cut(pending=s.pending, factor=s.factor, terms=multiply(m, s.terms, "logistic"))
    s = cut(pending=s.pending, factor=s.factor, terms=add(m, s.terms, "logistic"))
    s = cut(pending=s.pending, factor=s.factor, terms=multiply(m, s.terms, "logistic"))
    s = cut(pending=s.pending, factor=s.factor, terms=add(m, s.terms, "logistic"))
    s = cut(pending=s.pending, factor=s.factor, terms=multiply(m, s.terms, "logistic"))
    value = value_of(add(m, s.terms, "logistic"), format)
    s = cut(pending=s.pending, factor=s.factor, value=value)

    s = cut(pending=s.pending, product=partial_products(m, s.factor, s.value, "product"))
    magnitude = condense(m, format, sum_products(m, s.product, "product"), 2 * unit)
    s = cut(pending=s.pending, magnitude=magnitude)

    return finish(m, cut, format, s.pending, s.magnitude)


def split(m: Module, format: FloatFormat, power: Value) -> Power:
    """A signed fixed-point number, with a position's bits after the point, into two."""
    fixed = named(m, "fixed", power)
    bits = position_bits(format)
    return Power(named(m, "whole", fixed[bits:].as_signed()), fixed[:bits])


def _to_power_of_two(
    m: Module, cut: CutPoints, format: FloatFormat, x: Operand, is_negative: Value, limit: Value
) -> SimpleNamespace:
    """``power``, of which 2 is e to the magnitude of x, or to minus that where ``is_negative``.

    With the ``sign`` of x; and where x is NaN or beyond the reach, ``is_bypassed``, and ``bypass``
    in place of the result, which is the ``limit`` beyond. Goes through four cut points.
    """
    numbers = exponential(format)
    s = cut(
        is_bypassed=x.is_nan | is_beyond(m, format, x, numbers.reach),
        bypass=named(m, "bypass", Mux(x.is_nan, format.canonical_nan, limit)),
        sign=x.sign,
        is_negative=is_negative,
        exponent=x.exponent,
        significand=x.significand,
    )

    s = cut(
        is_bypassed=s.is_bypassed,
        bypass=s.bypass,
        sign=s.sign,
        is_negative=s.is_negative,
        exponent=s.exponent,
        product=partial_products(m, s.significand, Const(numbers.factor), "product"),
    )

    s = cut(**vars(s) | {"product": sum_products(m, s.product, "product")})

    magnitude = _fixed(m, format, numbers, s.product, s.exponent)
    power = split(m, format, Mux(s.is_negative, -magnitude, magnitude))
    return cut(is_bypassed=s.is_bypassed, bypass=s.bypass, sign=s.sign, power=power)


def _fixed(
    m: Module, format: FloatFormat, numbers: Exponential, product: Value, exponent: Value
) -> Value:
    """``product`` * 2**exponent, with a position's bits after the point; one bit to spare."""
    highest = format.bias + numbers.reach - 1
    drop = format.fraction + numbers.factor_bits - position_bits(format) - (numbers.reach - 1)
    top = product[drop:]
    distance = named(m, "down", (highest - exponent)[: format.exponent + 1])
    places = at_most(distance, len(top).bit_length())
    return named(m, "magnitude", Cat(top >> places, Const(0, 1)))

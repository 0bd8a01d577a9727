"""The natural logarithm."""

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
from gnarl.hw.lib.functions.numerics import logarithm, position_bits, unit_bits
from gnarl.hw.lib.functions.steps import add, condense, look_up, magnitude_bits, multiply, value_of
from gnarl.hw.lib.products import partial_products, sum_products

LOG_DEPTHS = [8, 7, 6, 8, *[6] * 8, 8, *FINISH_DEPTHS]


def compute_log(m: Module, format: FloatFormat, stages: int, bits: Value) -> Value:
    """The natural logarithm of x; that of a zero is minus infinity, that of what is below is NaN.

    With x = 2**power * m, 0.75 <= m < 1.5, it is power * log(2) + (m - 1) * ratio. Where the power
    is 0, m - 1 is normalised, which is exact, and results near 0 are as good as others.
    """
    F = format.fraction
    numbers = logarithm(format)
    width = magnitude_bits(format, numbers.whole_bits)
    # Of a result whose magnitude has not been shifted.
    highest = format.bias + numbers.whole_bits - 2
    cut = CutPoints(m, stages, LOG_DEPTHS)

    x = decode(m, format, bits, "x")
    is_nan = named(m, "is_nan", x.is_nan | (x.sign & ~x.is_zero))
    fraction = x.significand[:-1]
    is_near = named(m, "is_near", x.exponent == format.bias - fraction[-1])
    s = cut(
        is_bypassed=is_nan | x.is_infinite | x.is_zero,
        bypass=named(m, "bypass", special(format, is_nan, x.is_zero)),
        is_near=is_near,
        fraction=fraction,
        magnitude=named(m, "near", Mux(is_near, _distance(fraction), x.significand)),
        exponent=as_exponent(m, format, Mux(is_near, highest, x.exponent), width),
    )

    distances = [1 << i for i in reversed(range(F.bit_length()))]
    wide = len(distances) // 2
    magnitude, exponent = normalise(m, s.magnitude, s.exponent, distances[:wide])
    s = cut(
        is_bypassed=s.is_bypassed,
        bypass=s.bypass,
        is_near=s.is_near,
        fraction=s.fraction,
        magnitude=magnitude,
        exponent=exponent,
    )

    magnitude, exponent = normalise(m, s.magnitude, s.exponent, distances[wide:])
    s = cut(
        is_bypassed=s.is_bypassed,
        bypass=s.bypass,
        is_near=s.is_near,
        fraction=named(m, "fraction", Mux(s.is_near, s.fraction, magnitude[:-1])),
        magnitude=magnitude,
        exponent=exponent,
    )

    is_below = s.fraction[-1]
    whole = s.exponent - format.bias + is_below
    power = named(m, "power", Mux(s.is_near, 0, whole))
    sign = named(m, "sign", Mux(s.is_near, is_below, power < 0))
    final = as_exponent(m, format, Mux(s.is_near, s.exponent, highest), width)
    position = Cat(Const(0, position_bits(format) - (F - 1)), s.fraction[:-1])
    s = cut(
        pending=Pending(sign, final, s.is_bypassed, s.bypass),
        power=power,
        is_sum=sign == is_below,
        factor=named(m, "factor", Mux(s.is_near, s.magnitude, _distance(s.fraction))),
        terms=look_up(m, numbers.ratio, is_below, position, "ratio"),
    )

    s = cut(
        pending=s.pending,
        count=named(m, "count", Mux(s.power < 0, -s.power, s.power)[: _power_bits(format)]),
        is_sum=s.is_sum,
        factor=s.factor,
        terms=multiply(m, s.terms, "ratio"),
    )
    s = cut(
        pending=s.pending,
        base=partial_products(m, s.count, Const(numbers.step), "base"),
        is_sum=s.is_sum,
        factor=s.factor,
        terms=add(m, s.terms, "ratio"),
    )
    base = sum_products(m, s.base, "base")
    multiplied = multiply(m, s.terms, "ratio")
    s = cut(pending=s.pending, base=base, is_sum=s.is_sum, factor=s.factor, terms=multiplied)
    terms = add(m, s.terms, "ratio")
    s = cut(pending=s.pending, base=s.base, is_sum=s.is_sum, factor=s.factor, terms=terms)
    multiplied = multiply(m, s.terms, "ratio")
    s = cut(pending=s.pending, base=s.base, is_sum=s.is_sum, factor=s.factor, terms=multiplied)
    ratio = value_of(add(m, s.terms, "ratio"), format)
    s = cut(pending=s.pending, base=s.base, is_sum=s.is_sum, factor=s.factor, ratio=ratio)

    products = partial_products(m, s.factor, s.ratio, "product")
    s = cut(pending=s.pending, base=s.base, is_sum=s.is_sum, product=products)
    cut_off = F + 1 + unit_bits(format) - numbers.point
    product = sum_products(m, s.product, "product")[cut_off:]
    s = cut(pending=s.pending, base=s.base, is_sum=s.is_sum, product=product)
    total = named(m, "total", Mux(s.is_sum, s.base + s.product, s.base - s.product))
    magnitude = condense(m, format, total, numbers.point, numbers.whole_bits)
    s = cut(pending=s.pending, magnitude=magnitude)

    return finish(m, cut, format, s.pending, s.magnitude)


def _distance(fraction: Value) -> Value:
    """How far m is from 1, in units of 2**-(F + 1), as wide as the fraction.

    m is 1 + fraction, or half of it where that is 1.5 or more.
    """
    doubled = Cat(Const(0, 1), fraction[:-1])
    return Mux(fraction[-1], (-fraction)[: len(fraction)], doubled)


def _power_bits(format: FloatFormat) -> int:
    """Width of the power's magnitude: of subnormals it is less than bias + F."""
    return (format.bias + format.fraction).bit_length()

"""The hyperbolic tangent."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Value
from gnarl.hw.lib.cut_points import CutPoints, named
from gnarl.hw.lib.float.parts import FINISH_DEPTHS, decode, finish
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.functions.numerics import tangent, unit_bits
from gnarl.hw.lib.functions.steps import (
    add,
    condense,
    is_beyond,
    locate,
    look_up,
    multiply,
    one,
    pending,
    value_of,
)
from gnarl.hw.lib.products import partial_products, sum_products

TANH_DEPTHS = [10, 6, *[6] * 6, 6, 7, *FINISH_DEPTHS]


def compute_tanh(m: Module, format: FloatFormat, stages: int, bits: Value) -> Value:
    """The hyperbolic tangent: x times the table's value where x is below 1, else that value."""
    numbers = tangent(format)
    unit = unit_bits(format)
    cut = CutPoints(m, stages, TANH_DEPTHS)

    x = decode(m, format, bits, "x")
    place = locate(m, format, x, numbers.reach)
    waiting = pending(
        m,
        format,
        exponent=Mux(place.is_below_one, x.exponent, format.bias),
        sign=x.sign,
        is_bypassed=x.is_nan | is_beyond(m, format, x, numbers.reach),
        bypass=named(m, "bypass", Mux(x.is_nan, format.canonical_nan, one(format, x.sign))),
    )
    factor = Mux(place.is_below_one, x.significand, 1 << format.fraction)
    s = cut(pending=waiting, factor=named(m, "factor", factor), place=place)

    terms = look_up(m, numbers.table, s.place.piece, s.place.position, "tangent")
    s = cut(pending=s.pending, factor=s.factor, terms=terms)
    s = cut(pending=s.pending, factor=s.factor, terms=multiply(m, s.terms, "tangent"))
    s = cut(pending=s.pending, factor=s.factor, terms=add(m, s.terms, "tangent"))
    s = cut(pending=s.pending, factor=s.factor, terms=multiply(m, s.terms, "tangent"))
    s = cut(pending=s.pending, factor=s.factor, terms=add(m, s.terms, "tangent"))
    s = cut(pending=s.pending, factor=s.factor, terms=multiply(m, s.terms, "tangent"))
    value = value_of(add(m, s.terms, "tangent"), format)
    s = cut(pending=s.pending, factor=s.factor, value=value)

    s = cut(pending=s.pending, product=partial_products(m, s.factor, s.value, "product"))
    product = sum_products(m, s.product, "product")
    magnitude = condense(m, format, product, unit + format.fraction)
    s = cut(pending=s.pending, magnitude=magnitude)

    return finish(m, cut, format, s.pending, s.magnitude)

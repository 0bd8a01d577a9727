"""x times the normal distribution's share below x: GELU in its exact form."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Value
from gnarl.hw.lib.cut_points import CutPoints, named
from gnarl.hw.lib.float.parts import FINISH_DEPTHS, at_most, decode, finish
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.functions.exponential import split
from gnarl.hw.lib.functions.numerics import Tail, position_bits, tail, unit_bits
from gnarl.hw.lib.functions.steps import (
    add,
    condense,
    is_beyond,
    locate,
    look_up,
    multiply,
    pending,
    value_of,
    zero,
)
from gnarl.hw.lib.products import partial_products, sum_products

GELU_DEPTHS = [10, *[6] * 4, 8, *[6] * 7, 8, 6, 7, *FINISH_DEPTHS]


def compute_gelu(m: Module, format: FloatFormat, stages: int, bits: Value) -> Value:
    """x * (1 + erf(x / sqrt(2))) / 2.

    With q, the tail of the normal distribution beyond the magnitude of x, it is x * (1 - q) for
    x >= 0 and x * q for x < 0. q has an exponent of its own: results near 0 are as good as others.
    """
    numbers = tail(format)
    unit = unit_bits(format)
    cut = CutPoints(m, stages, GELU_DEPTHS)

    x = decode(m, format, bits, "x")
    limit = Mux(x.sign, zero(format, Const(1)), bits)
    place = locate(m, format, x, numbers.reach)
    result = pending(
        m,
        format,
        exponent=x.exponent,
        sign=x.sign,
        is_bypassed=x.is_nan | is_beyond(m, format, x, numbers.reach),
        bypass=named(m, "bypass", Mux(x.is_nan, format.canonical_nan, limit)),
    )
    s = cut(pending=result, significand=x.significand, place=place)

    s = cut(
        pending=s.pending,
        significand=s.significand,
        piece=s.place.piece,
        square=partial_products(m, s.significand, s.significand, "square"),
        ratio=look_up(m, numbers.ratio, s.place.piece, s.place.position, "ratio"),
    )
    square = sum_products(m, s.square, "square")[_unused(format, numbers) :]
    multiplied = multiply(m, s.ratio, "ratio")
    s = cut(
        pending=s.pending, significand=s.significand, piece=s.piece, square=square, ratio=multiplied
    )
    product = partial_products(m, s.square, Const(numbers.factor), "product")
    ratio = add(m, s.ratio, "ratio")
    s = cut(
        pending=s.pending, significand=s.significand, piece=s.piece, product=product, ratio=ratio
    )
    product = sum_products(m, s.product, "product")
    multiplied = multiply(m, s.ratio, "ratio")
    s = cut(
        pending=s.pending,
        significand=s.significand,
        piece=s.piece,
        product=product,
        ratio=multiplied,
    )

    s = cut(
        pending=s.pending,
        significand=s.significand,
        piece=s.piece,
        power=split(m, format, -_fixed(m, format, numbers, s.product, s.pending.exponent)),
        ratio=add(m, s.ratio, "ratio"),
    )
    whole = s.power.whole
    s = cut(
        pending=s.pending,
        significand=s.significand,
        distance=named(m, "distance", (s.piece - whole)[: len(whole)]),
        power=look_up(m, numbers.power, None, s.power.position, "power"),
        ratio=multiply(m, s.ratio, "ratio"),
    )

    def carried() -> dict[str, Any]:
        return {"pending": s.pending, "significand": s.significand, "distance": s.distance}

    ratio = value_of(add(m, s.ratio, "ratio"), format)
    s = cut(**carried(), ratio=ratio, power=multiply(m, s.power, "power"))
    s = cut(**carried(), ratio=s.ratio, power=add(m, s.power, "power"))
    s = cut(**carried(), ratio=s.ratio, power=multiply(m, s.power, "power"))
    s = cut(**carried(), ratio=s.ratio, power=value_of(add(m, s.power, "power"), format))
    s = cut(**carried(), tail=partial_products(m, s.ratio, s.power, "tail"))
    tail_bits = sum_products(m, s.tail, "tail")[unit : 2 * unit + 1]
    s = cut(**carried(), tail=tail_bits)

    places = at_most(s.distance, (unit + 1).bit_length())
    share = named(m, "share", ((1 << unit) - (s.tail >> places))[: unit + 1])
    exponent = named(
        m,
        "lowered",
        (s.pending.exponent - Mux(s.pending.sign, s.distance, 0))[: len(s.pending.exponent)],
        s.pending.exponent.shape(),
    )
    s = cut(
        pending=s.pending._replace(exponent=exponent),
        significand=s.significand,
        factor=named(m, "factor", Mux(s.pending.sign, s.tail, share)),
    )

    s = cut(pending=s.pending, product=partial_products(m, s.significand, s.factor, "result"))
    product = sum_products(m, s.product, "result")
    magnitude = condense(m, format, product, unit + format.fraction)
    s = cut(pending=s.pending, magnitude=magnitude)

    return finish(m, cut, format, s.pending, s.magnitude)


def _unused(format: FloatFormat, numbers: Tail) -> int:
    """How many low bits of the significand's square don't count."""
    return max(0, 2 * format.fraction + 2 - numbers.square_bits)


def _fixed(m: Module, format: FloatFormat, numbers: Tail, product: Value, exponent: Value) -> Value:
    """``product`` * 4**exponent, with a position's bits after the point; one bit to spare."""
    highest = format.bias + numbers.reach - 1
    point = 2 * format.fraction - _unused(format, numbers) + numbers.factor_bits
    drop = point - position_bits(format) - 2 * (numbers.reach - 1)
    top = product[drop:]
    down = Cat(Const(0, 1), (highest - exponent)[: format.exponent + 1])
    places = at_most(named(m, "down", down), len(top).bit_length())
    return named(m, "magnitude", Cat(top >> places, Const(0, 1)))

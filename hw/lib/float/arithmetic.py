"""All operations of an arithmetic unit in floating point, with one normaliser and one rounder.

A sum below the normal numbers is exact, and a product below them is nowhere near the lowest bits of
its magnitude. So products move to the right beside the addition, in front of the normaliser, and it
moves sums and products to the left only as far as the exponent goes: then both can be rounded.
"""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Value, signed
from gnarl.hw.lib.cut_points import CutPoints, named
from gnarl.hw.lib.float.add import add_magnitudes, align, alignment, sum_bits, sum_is_nan
from gnarl.hw.lib.float.mul import (
    partial_products,
    product_bits,
    product_exponent,
    product_is_nan,
    sum_products,
)
from gnarl.hw.lib.float.parts import (
    Operand,
    clamp,
    decode,
    leading_zeros,
    shift_left,
    shift_right,
    special,
)
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.operation import Operation

DEPTHS = {"fpga": (6, 7, 8, 7, 7, 8, 6), "silicon": (1, 8, 5, 6, 3, 6, 9)}
"""Logic depths of the steps, for ``CutPoints``, by technology.

Those of silicon are fitted, in units of 0.27 ns, to the longest paths of a float32 PE with
registers at each of the 64 choices of places, in Oklahoma State University's 0.18 micrometre cells.
They are not the steps' delays one by one: what is late in a step is seldom what the next one waits
for.
"""


class _Order(NamedTuple):
    """How two operands compare without their signs; by how much either exponent is ahead."""

    left_is_larger: Value
    is_equal: Value
    left_ahead: Value
    right_ahead: Value


class _Kind(NamedTuple):
    """What is computed; ``is_difference``: the operands' signs in the sum differ."""

    is_product: Value
    is_sum: Value
    is_difference: Value
    is_maximum: Value
    is_minimum: Value
    takes_right: Value


class _Pending(NamedTuple):
    """A result's sign, and what it is where ``is_bypassed``, whatever is computed."""

    sign: Value
    is_bypassed: Value
    bypass: Value


def compute_float(
    m: Module,
    format: FloatFormat,
    stages: int,
    technology: str,
    left: Value,
    right: Value,
    operation: Value,
    with_losses: bool = False,
) -> tuple[Value, dict[str, Value]]:
    """``left`` ``operation`` ``right``, after ``stages`` registers, the last of them at the output;
    and what it loses, by the names of ``LOSSES``, where that is asked for.

    What needs no rounding, and what is NaN or infinite from the start, takes the bypass.
    """
    cut = CutPoints(m, stages, DEPTHS[technology])
    a, b = decode(m, format, left, "left"), decode(m, format, right, "right")
    s = cut(
        left=left,
        right=right,
        a=a,
        b=b,
        kind=_kind(left, right, operation),
        order=_order(m, format, left, right, a, b),
        product_exponent=_exponent(m, format, "product_exponent", product_exponent(format, a, b)),
    )

    known = cut.to_output(**_known(s.a, s.b, s.kind)) if with_losses else {}
    larger = s.order.left_is_larger
    ahead = Mux(larger, s.order.left_ahead, s.order.right_ahead)
    exponent = Mux(s.kind.is_product, s.product_exponent, Mux(larger, s.a.exponent, s.b.exponent))
    is_split = cut.next_has_registers
    s = cut(
        pending=_pending(m, format, s.left, s.right, s.a, s.b, s.kind, s.order),
        is_product=s.kind.is_product,
        is_difference=s.kind.is_difference,
        exponent=_exponent(m, format, "exponent", exponent),
        large=named(m, "large", Mux(larger, s.a.significand, s.b.significand)),
        small=named(m, "small", Mux(larger, s.b.significand, s.a.significand)),
        amount=named(m, "amount", alignment(format, ahead)),
        partial=partial_products(m, format, s.a.significand, s.b.significand, is_split=is_split),
    )

    s = cut(
        pending=s.pending,
        is_product=s.is_product,
        is_difference=s.is_difference,
        exponent=s.exponent,
        large=s.large,
        addend=align(m, s.small, s.amount, s.is_difference),
        product=sum_products(m, format, s.partial),
        below=named(m, "below", clamp(-s.exponent, (format.fraction + 2).bit_length())),
    )

    bits = max(sum_bits(format), product_bits(format))
    s = cut(
        pending=s.pending,
        is_product=s.is_product,
        exponent=s.exponent,
        stop=_one_behind(m, clamp(s.exponent, (bits - 1).bit_length()), bits),
        total=add_magnitudes(m, s.large, s.addend, s.is_difference),
        product=_denormalised(m, format, s.product, s.below),
    )

    magnitude = Mux(s.is_product, _at_top(s.product, bits), _at_top(s.total, bits))
    magnitude = named(m, "magnitude", magnitude)
    s = cut(
        pending=s.pending,
        exponent=s.exponent,
        magnitude=magnitude,
        distance=leading_zeros(m, magnitude | s.stop),
        beyond=_exponent(m, format, "beyond", s.exponent - (1 << format.exponent) + 2),
    )

    # A magnitude whose top bit is set has an exponent >= 0 here, its field's value - 1.
    shifted = shift_left(m, s.magnitude, s.distance, "normalised")
    field = named(m, "field", (s.exponent - s.distance + 1)[: format.exponent])
    fraction = shifted[-(format.fraction + 1) : -1]
    overflows = named(m, "overflows", s.distance <= s.beyond)
    infinity = special(format, Const(0, 1), s.pending.sign)
    s = cut(
        pending=s.pending._replace(
            is_bypassed=s.pending.is_bypassed | overflows,
            bypass=Mux(s.pending.is_bypassed, s.pending.bypass, infinity),
        ),
        number=named(m, "number", Cat(fraction, Mux(shifted[-1], field, 0))),
        half=shifted[-(format.fraction + 2)],
        rest=shifted[: -(format.fraction + 2)].any(),
    )

    round_up = named(m, "round_up", s.half & (s.rest | s.number[0]))
    rounded = named(m, "rounded", (s.number + round_up)[: len(s.number)])
    rounded = Cat(rounded, s.pending.sign)
    result = named(m, "result", Mux(s.pending.is_bypassed, s.pending.bypass, rounded))
    o = cut(o=result).o
    return o, _losses(format, o, **known) if known else {}


def _known(a: Operand, b: Operand, kind: _Kind) -> dict[str, Value]:
    """What ``_losses`` needs of the operands."""
    is_finite = ~(a.is_nan | a.is_infinite | b.is_nan | b.is_infinite)
    of_sum = kind.is_sum & kind.is_difference & a.is_infinite & b.is_infinite
    of_product = kind.is_product & ((a.is_infinite & b.is_zero) | (a.is_zero & b.is_infinite))
    return {
        "is_finite": is_finite & (kind.is_sum | kind.is_product),
        "is_nonzero": is_finite & kind.is_product & ~a.is_zero & ~b.is_zero,
        "is_invalid": of_sum | of_product,
    }


def _losses(
    format: FloatFormat, o: Value, is_finite: Value, is_nonzero: Value, is_invalid: Value
) -> dict[str, Value]:
    """Sums that are not 0 are not rounded to 0: below the normal numbers they are exact."""
    return {
        "underflow": is_nonzero & ~o[:-1].any(),
        "overflow": is_finite & o[format.fraction : -1].all(),
        "nan": is_invalid,
    }


def _kind(left: Value, right: Value, operation: Value) -> _Kind:
    is_subtract = operation == Operation.SUB
    return _Kind(
        is_product=operation == Operation.MUL,
        is_sum=is_subtract | (operation == Operation.ADD),
        is_difference=left[-1] ^ right[-1] ^ is_subtract,
        is_maximum=operation == Operation.MAX,
        is_minimum=operation == Operation.MIN,
        takes_right=operation == Operation.PASS_RIGHT,
    )


def _order(
    m: Module, format: FloatFormat, left: Value, right: Value, a: Operand, b: Operand
) -> _Order:
    bits = format.exponent
    return _Order(
        left_is_larger=named(m, "left_is_larger", left[:-1] >= right[:-1]),
        is_equal=named(m, "is_equal", left[:-1] == right[:-1]),
        left_ahead=named(m, "left_ahead", (a.exponent - b.exponent)[:bits]),
        right_ahead=named(m, "right_ahead", (b.exponent - a.exponent)[:bits]),
    )


def _exponent(m: Module, format: FloatFormat, name: str, value: Value) -> Value:
    """An exponent as wide as sums and products of operands need it: one less than the biased one
    that the result has if its magnitude's top bit is set. It may be far out of range, up or down.
    """
    return named(m, name, value, signed(format.exponent + 2))


def _pending(
    m: Module,
    format: FloatFormat,
    left: Value,
    right: Value,
    a: Operand,
    b: Operand,
    kind: _Kind,
    order: _Order,
) -> _Pending:
    computes = kind.is_sum | kind.is_product
    extremal = kind.is_maximum | kind.is_minimum
    is_nan = named(
        m,
        "is_nan",
        (kind.is_sum & sum_is_nan(a, b, kind.is_difference))
        | (kind.is_product & product_is_nan(a, b))
        | (extremal & (a.is_nan | b.is_nan)),
    )
    of_sum = Mux(order.left_is_larger, a.sign, a.sign ^ kind.is_difference)
    is_cancelled = kind.is_difference & order.is_equal
    sign = named(m, "sign", Mux(kind.is_product, a.sign ^ b.sign, of_sum & ~is_cancelled))
    below = named(m, "is_below", _is_below(left, right, order.left_is_larger))
    takes_right = kind.takes_right | (kind.is_maximum & below) | (kind.is_minimum & ~below)
    passed = Mux(takes_right, right, left)
    return _Pending(
        sign=sign,
        is_bypassed=~computes | is_nan | a.is_infinite | b.is_infinite,
        bypass=named(m, "bypass", Mux(computes | is_nan, special(format, is_nan, sign), passed)),
    )


def _is_below(a: Value, b: Value, a_is_larger: Value) -> Value:
    """Whether number ``a`` is below ``b``, -0 being below +0; anything for equal bits.

    ``a_is_larger`` compares the bits without the sign: a >= b.
    """
    return Mux(a[-1] ^ b[-1], a[-1], a_is_larger ^ ~a[-1])


def _denormalised(m: Module, format: FloatFormat, product: Value, below: Value) -> Value:
    """A product moved right by ``below``; what falls off shows in its lowest bit.

    Where ``below`` isn't 0, only that bit and the highest fraction + 2 bits mean anything, and that
    others, which stay where they are, are not all 0.
    """
    low, high = product[: -(format.fraction + 2)], product[-(format.fraction + 2) :]
    moved, lost = shift_right(m, high, below, "denormalised")
    return Cat(low[0] | lost, low[1:], moved)


def _one_behind(m: Module, zeros: Value, bits: int) -> Value:
    """A number of ``bits`` bits with a single 1 behind so many zeros from the top, if it fits."""
    return named(m, "stop", Cat(zeros == bits - 1 - place for place in range(bits)))


def _at_top(value: Value, bits: int) -> Value:
    """``value`` with zeros appended, up to a width of ``bits``."""
    return Cat(Const(0, bits - len(value)), value)

"""All operations of an arithmetic unit in floating point, with one normaliser and one rounder."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hw.lib.cut_points import CutPoints, named
from hw.lib.float_add import add_magnitudes, align, alignment, order, sum_bits, sum_is_nan
from hw.lib.float_mul import multiply_magnitudes, product_bits, product_exponent, product_is_nan
from hw.lib.float_parts import FINISH_DEPTHS, Pending, as_exponent, decode, finish, special
from hw.lib.formats import FloatFormat
from hw.lib.operation import Operation


def compute_float(
    m: Module, format: FloatFormat, stages: int, left: Value, right: Value, operation: Value
) -> Value:
    """``left`` ``operation`` ``right``, after ``stages`` registers, the last of them at the output.

    What needs no rounding, and what is NaN or infinite from the start, takes the bypass.
    """
    cut = CutPoints(m, stages, [10, 9, 12, 11, *FINISH_DEPTHS])
    larger = named(m, "left_is_larger", left[:-1] >= right[:-1])
    s = cut(left=left, right=right, operation=operation, left_is_larger=larger)

    s = cut(**_prepare(m, format, s.left, s.right, s.operation, s.left_is_larger))

    s = cut(
        pending=s.pending,
        is_product=s.is_product,
        is_difference=s.is_difference,
        large=s.large,
        aligned=align(m, s.small, s.amount),
        product=multiply_magnitudes(m, format, s.large, s.small),
    )

    total = add_magnitudes(m, s.large, s.aligned, s.is_difference)
    bits = _magnitude_bits(format)
    magnitude = Mux(s.is_product, _at_top(s.product, bits), _at_top(total, bits))
    s = cut(pending=s.pending, magnitude=named(m, "magnitude", magnitude))

    return finish(m, cut, format, s.pending, s.magnitude)


def _prepare(
    m: Module,
    format: FloatFormat,
    left: Value,
    right: Value,
    operation: Value,
    left_is_larger: Value,
) -> dict[str, Any]:
    """Decodes operands and operation: all that is known before any arithmetic on significands."""
    is_product = named(m, "is_product", operation == Operation.MUL)
    is_subtract = operation == Operation.SUB
    is_sum = named(m, "is_sum", is_subtract | (operation == Operation.ADD))
    is_maximum = operation == Operation.MAX
    is_minimum = operation == Operation.MIN

    ordered = order(m, left, right, is_subtract, left_is_larger)
    large = decode(m, format, ordered.large, "large")
    small = decode(m, format, ordered.small, "small")
    below = named(m, "below", _is_below(left, right, left_is_larger))
    takes_right = (operation == Operation.PASS_RIGHT) | (is_maximum & below) | (is_minimum & ~below)
    is_nan = named(
        m,
        "is_nan",
        (is_sum & sum_is_nan(large, small, ordered.is_difference))
        | (is_product & product_is_nan(large, small))
        | ((is_maximum | is_minimum) & large.is_nan),
    )
    computes = named(m, "computes", is_sum | is_product)
    sign = named(
        m,
        "sign",
        Mux(is_product, left[-1] ^ right[-1], large.sign & ~ordered.is_cancelled),
    )
    exponent = Mux(is_product, product_exponent(format, large, small), large.exponent)
    return {
        "pending": Pending(
            sign=sign,
            exponent=as_exponent(m, format, exponent, _magnitude_bits(format)),
            is_bypassed=~computes | is_nan | large.is_infinite,
            bypass=named(
                m,
                "bypass",
                Mux(
                    computes | is_nan, special(format, is_nan, sign), Mux(takes_right, right, left)
                ),
            ),
        ),
        "is_product": is_product,
        "is_difference": ordered.is_difference,
        "large": large.significand,
        "small": small.significand,
        "amount": alignment(m, format, large, small),
    }


def _is_below(a: Value, b: Value, a_is_larger: Value) -> Value:
    """Whether number ``a`` is below ``b``, -0 being below +0; anything for equal bits.

    ``a_is_larger`` compares the bits without the sign: a >= b.
    """
    return Mux(a[-1] ^ b[-1], a[-1], a_is_larger ^ ~a[-1])


def _magnitude_bits(format: FloatFormat) -> int:
    return max(sum_bits(format), product_bits(format))


def _at_top(value: Value, bits: int) -> Value:
    """``value`` with zeros appended, up to a width of ``bits``."""
    return Cat(Const(0, bits - len(value)), value)

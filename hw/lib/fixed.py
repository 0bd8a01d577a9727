"""Fixed-point arithmetic: two's complement, sums wrap, products round to nearest even and wrap."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Value

from hw.lib.cut_points import CutPoints, named
from hw.lib.formats import FixedFormat
from hw.lib.operation import Operation

MULTIPLY_DEPTHS = (0, 12, 0, 5)
"""Operands, product, a multiplier block's own register, rounding; for ``CutPoints``."""


def check_fixed(format: FixedFormat) -> None:
    """``ValueError`` unless the widths are those of a ``FixedFormat``."""
    if not (4 <= format.width <= 32 and 0 <= format.fraction < format.width):
        raise ValueError(f"{format}: width must be 4 to 32 bits, fraction 0 to width - 1")


def add(m: Module, format: FixedFormat, a: Value, b: Value, subtract: Value) -> Value:
    """``a`` + ``b``, or ``a`` - ``b`` where ``subtract``; wraps."""
    inverted = named(m, "inverted", b ^ subtract.replicate(format.width))
    return named(m, "total", (a + inverted + subtract)[: format.width])


def multiply(m: Module, format: FixedFormat, a: Value, b: Value) -> Value:
    """The exact product: 2 * width bits, 2 * fraction of them after the point."""
    return named(m, "product", (a.as_signed() * b.as_signed())[: 2 * format.width])


def round_product(m: Module, format: FixedFormat, product: Value) -> Value:
    """A product in the format: rounded to nearest, ties to even, then wrapped."""
    fraction = format.fraction
    whole = product[fraction : fraction + format.width]
    if fraction == 0:
        return whole
    round_up = product[fraction - 1] & (product[: fraction - 1].any() | whole[0])
    return named(m, "rounded", (whole + round_up)[: format.width])


def compute_fixed(
    m: Module, format: FixedFormat, stages: int, left: Value, right: Value, operation: Value
) -> Value:
    """``left`` ``operation`` ``right``, after ``stages`` registers, the last one at the output."""
    cut = CutPoints(m, stages, MULTIPLY_DEPTHS)
    s = cut(left=left, right=right, operation=operation)

    below = named(m, "below", s.left.as_signed() < s.right.as_signed())
    takes_right = (
        (s.operation == Operation.PASS_RIGHT)
        | ((s.operation == Operation.MAX) & below)
        | ((s.operation == Operation.MIN) & ~below)
    )
    is_subtract = named(m, "is_subtract", s.operation == Operation.SUB)
    is_sum = is_subtract | (s.operation == Operation.ADD)
    total = add(m, format, s.left, s.right, is_subtract)
    s = cut(
        is_product=s.operation == Operation.MUL,
        other=named(m, "other", Mux(is_sum, total, Mux(takes_right, s.right, s.left))),
        product=multiply(m, format, s.left, s.right),
    )
    s = cut(is_product=s.is_product, other=s.other, product=s.product)

    return cut(o=Mux(s.is_product, round_product(m, format, s.product), s.other)).o

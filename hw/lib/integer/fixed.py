"""Fixed-point arithmetic: two's complement, sums wrap, products round to nearest even and wrap."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Value
from gnarl.hw.lib.cut_points import CutPoints, named
from gnarl.hw.lib.formats import FixedFormat
from gnarl.hw.lib.operation import Operation

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
    m: Module,
    format: FixedFormat,
    stages: int,
    left: Value,
    right: Value,
    operation: Value,
    with_losses: bool = False,
) -> tuple[Value, dict[str, Value]]:
    """``left`` ``operation`` ``right``, after ``stages`` registers, the last one at the output; and
    what it loses, by the names of ``LOSSES``, where that is asked for."""
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
    of_sum = {}
    if with_losses:
        same_sign = s.left[-1] == (s.right[-1] ^ is_subtract)
        of_sum = cut.to_output(sum_wraps=is_sum & same_sign & (total[-1] != s.left[-1]))
    s = cut(
        is_product=s.operation == Operation.MUL,
        other=named(m, "other", Mux(is_sum, total, Mux(takes_right, s.right, s.left))),
        product=multiply(m, format, s.left, s.right),
    )
    s = cut(is_product=s.is_product, other=s.other, product=s.product)

    rounded = round_product(m, format, s.product)
    losses = {}
    if with_losses:
        wraps = named(m, "product_wraps", _wraps(format, s.product, rounded))
        underflow = ~wraps & ~rounded.any() & s.product[: format.fraction].any()
        of_product = cut.to_output(
            product_wraps=s.is_product & wraps, underflow=s.is_product & underflow
        )
        losses = {
            "underflow": of_product["underflow"],
            "overflow": of_sum["sum_wraps"] | of_product["product_wraps"],
            "nan": Const(0, 1),
        }
    return cut(o=Mux(s.is_product, rounded, s.other)).o, losses


def _wraps(format: FixedFormat, product: Value, rounded: Value) -> Value:
    """Whether a product, ``rounded``, is beyond the format."""
    whole = product[format.fraction :]
    upper = whole[format.width :]
    # What rounds up from -1 carries into the upper bits, which are then all 0.
    is_negative = whole[format.width - 1] | rounded[-1]
    return Mux(is_negative, ~upper.all(), upper.any())

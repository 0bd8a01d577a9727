"""Fixed-point arithmetic: two's complement, sums wrap, products round to nearest even and wrap."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Value
from amaranth.lib.wiring import In, Out

from hw.lib.cut_points import CutPoints, named
from hw.lib.formats import FixedFormat
from hw.lib.operation import Operation
from hw.lib.pipelined import Pipelined

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


class FixedAdder(Pipelined):
    """``o`` = ``a`` + ``b``, or ``a`` - ``b`` where ``subtract``; wraps.

    Parameters: ``format`` of all three; ``stages`` >= 0, pipeline registers at the output.

    Members: ``a``, ``b``, ``subtract``, ``o``: bits.
    """

    def __init__(self, format: FixedFormat, stages: int) -> None:
        check_fixed(format)
        self._format = format
        width = format.width
        super().__init__(
            {"a": In(width), "b": In(width), "subtract": In(1), "o": Out(width)}, stages
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        cut = CutPoints(m, self._stages, [1])
        s = cut(o=add(m, self._format, self.a, self.b, self.subtract))
        m.d.comb += self.o.eq(s.o)
        return m


class FixedMultiplier(Pipelined):
    """``o`` = ``a`` * ``b``, rounded to nearest even, then wrapped.

    Parameters: ``format`` of all three; ``stages`` >= 0, pipeline registers inside, the last one at
    the output.

    Members: ``a``, ``b``, ``o``: bits.
    """

    def __init__(self, format: FixedFormat, stages: int) -> None:
        check_fixed(format)
        self._format = format
        super().__init__(
            {"a": In(format.width), "b": In(format.width), "o": Out(format.width)}, stages
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        cut = CutPoints(m, self._stages, MULTIPLY_DEPTHS)
        s = cut(a=self.a, b=self.b)
        s = cut(product=multiply(m, self._format, s.a, s.b))
        s = cut(product=s.product)
        m.d.comb += self.o.eq(cut(o=round_product(m, self._format, s.product)).o)
        return m

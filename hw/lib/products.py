"""Products in two steps: multiplier blocks, and the sum of what these give."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from amaranth.hdl import Cat, Const, Module, Shape, Signal, Value
from gnarl.hw.lib.cut_points import named

MULTIPLIER_BITS = 17
"""Width of unsigned operands that the multiplier blocks of all FPGAs take."""


def partial_products(m: Module, a: Value, b: Value, name: str) -> list[Value]:
    """Numbers whose sum is ``a`` * ``b``; either may be signed.

    Operands are split into limbs that multiplier blocks take. A number has the products of limbs
    that lie side by side in it.
    """
    left, right = _limbs(a), _limbs(b)
    sizes = len(left[0]), len(right[0])
    rows: list[Value] = []
    for difference in range(1 - len(left), len(right)):
        first = max(0, -difference)
        row = _side_by_side(
            [x * y for x, y in zip(left[first:], right[first + difference :], strict=False)],
            sum(sizes),
        )
        shift = first * sizes[0] + (first + difference) * sizes[1]
        rows.append(named(m, f"{name}_{len(rows)}", row.shift_left(shift)))
    return rows


def sum_products(m: Module, rows: list[Value], name: str) -> Signal:
    """The product that ``partial_products`` gave ``rows`` for."""
    return named(m, name, sum_of(rows), product_shape(rows))


def sum_of(values: Iterable[Value]) -> Value:
    """The sum of all values, one after the other: Yosys makes one adder of many inputs of it."""
    return reduce(lambda total, value: total + value, values)


def product_shape(rows: list[Value]) -> Shape:
    """What the product fits in that ``partial_products`` gave ``rows`` for."""
    return Shape(max(map(len, rows)), any(row.shape().signed for row in rows))


def _limbs(value: Value) -> list[Value]:
    """As few parts of ``value`` as multiplier blocks take, the lowest first, all but the last of
    the same width; the last one has the sign."""
    parts = max(1, -(-len(value) // MULTIPLIER_BITS))
    size = -(-len(value) // parts)
    limbs = [value[part * size :][:size] for part in range(parts)]
    return [*limbs[:-1], limbs[-1].as_signed()] if value.shape().signed else limbs


def _side_by_side(products: list[Value], width: int) -> Value:
    """Products in ``width`` bits each, but for the last one, whose sign is that of all."""
    *below, last = products
    row = Cat(*(Cat(each, Const(0, width))[:width] for each in below), last)
    return row.as_signed() if last.shape().signed else row

"""Floating-point multiplication. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.float.parts import (
    Operand,
)
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.products import MULTIPLIER_BITS


def product_bits(format: FloatFormat) -> int:
    """Width of the magnitude of a product: at least what rounding needs."""
    return max(2 * (format.fraction + 1), format.fraction + 3)


def product_is_nan(a: Operand, b: Operand) -> Value:
    """Whether the product is NaN: an operand is, or infinity times zero."""
    return a.is_nan | b.is_nan | (a.is_infinite & b.is_zero) | (a.is_zero & b.is_infinite)


def product_exponent(format: FloatFormat, a: Operand, b: Operand) -> Value:
    """The exponent of ``Pending`` for the product's magnitude, signed."""
    # The bias is 2**(exponent - 1) - 1: one addition with a carry, and another of the top bits.
    total = (Cat(1, a.exponent) + Cat(1, b.exponent))[1:]
    low = format.exponent - 1
    return Cat(total[:low], total[low:] - 1).as_signed()


def partial_products(
    m: Module, format: FloatFormat, a: Value, b: Value, *, is_split: bool
) -> list[Value]:
    """What ``sum_products`` makes the product of two significands of: that itself, or, where it
    ``is_split``, parts that are known sooner.

    Multiplier blocks then take the fractions alone, since their hidden bits come late, in as many
    limbs as they need. The first part is what the hidden bits add to the product of the fractions,
    without its ``format.fraction`` lowest bits; then, for each difference of limbs' numbers from
    the least on, the products of limbs with that difference, side by side.
    """
    if not is_split:
        return [named(m, "partial", a * b)]
    parts, size = _limbs(format)
    left, right = ([value[:-1][part * size :][:size] for part in range(parts)] for value in (a, b))
    products = [_of_hidden_bits(m, format, a, b)]
    for difference in range(1 - parts, parts):
        row = [
            Cat(left[part] * right[part + difference], Const(0, 2 * size))[: 2 * size]
            for part in range(max(0, -difference), min(parts, parts - difference))
        ]
        products.append(named(m, f"partial_{len(products)}", Cat(row)))
    return products


def _of_hidden_bits(m: Module, format: FloatFormat, a: Value, b: Value) -> Value:
    """``a * b`` less the product of their fractions, without its ``format.fraction`` lowest bits.

    Nothing but a choice comes after the hidden bits.
    """
    hidden = Signal(format.fraction + 2, name="hidden")
    fractions = named(m, "fractions", a[:-1] + b[:-1])
    carry = fractions[-1]
    with m.Switch(Cat(a[-1], b[-1])):
        with m.Case(0b01):
            m.d.comb += hidden.eq(b[:-1])
        with m.Case(0b10):
            m.d.comb += hidden.eq(a[:-1])
        with m.Case(0b11):
            m.d.comb += hidden.eq(Cat(fractions[:-1], ~carry, carry))
    return hidden


def sum_products(m: Module, format: FloatFormat, partial: list[Value]) -> Value:
    """The exact product of two significands, at the top of ``product_bits``."""
    width = 2 * (format.fraction + 1)
    total, *rows = partial
    if rows:
        parts, size = _limbs(format)
        shifts = [size * abs(number + 1 - parts) for number in range(len(rows))]
        shifted = [
            Cat(Const(0, shift), value)
            for shift, value in zip([format.fraction, *shifts], partial, strict=True)
        ]
        total = _sum(shifted)
    product = named(m, "product", total[:width])
    return Cat(Const(0, product_bits(format) - width), product)


def _limbs(format: FloatFormat) -> tuple[int, int]:
    """The number of parts that a fraction is split into, so that multiplier blocks take them; their
    bits."""
    parts = -(-format.fraction // MULTIPLIER_BITS)
    return parts, -(-format.fraction // parts)


def _sum(values: list[Value]) -> Value:
    """The sum of all values, as a tree of additions."""
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return _sum(values[:middle]) + _sum(values[middle:])

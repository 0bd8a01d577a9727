"""Floating-point multiplication. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

import functools
import operator

from amaranth.hdl import Cat, Const, Module, Value

from hw.lib.cut_points import named
from hw.lib.float_parts import (
    Operand,
)
from hw.lib.formats import FloatFormat

MULTIPLIER_BITS = 17
"""Width of unsigned operands that the multiplier blocks of all FPGAs take."""


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


def limbs(format: FloatFormat) -> int:
    """Into how many parts a significand is split, so that multiplier blocks take them."""
    return -(-(format.fraction + 1) // MULTIPLIER_BITS)


def partial_products(m: Module, a: Value, b: Value, parts: int) -> list[Value]:
    """What ``sum_products`` makes the product of two significands of; each split into ``parts``.

    Element ``d``, from 1 - ``parts`` to ``parts`` - 1 in order, holds side by side the products of
    those parts whose numbers differ by ``d``.
    """
    size = -(-len(a) // parts)
    below, above = ([value[part * size :][:size] for part in range(parts)] for value in (a, b))
    found: list[Value] = []
    for difference in range(1 - parts, parts):
        row = [
            Cat(below[part] * above[part + difference], Const(0, 2 * size))[: 2 * size]
            for part in range(max(0, -difference), min(parts, parts - difference))
        ]
        found.append(named(m, f"partial_{len(found)}", Cat(row)))
    return found


def sum_products(m: Module, format: FloatFormat, partial: list[Value]) -> Value:
    """The exact product of two significands, at the top of ``product_bits``."""
    width = 2 * (format.fraction + 1)
    parts = (len(partial) + 1) // 2
    size = -(-(format.fraction + 1) // parts)
    shifted = [
        Cat(Const(0, size * abs(number + 1 - parts)), value) for number, value in enumerate(partial)
    ]
    product = named(m, "product", functools.reduce(operator.add, shifted)[:width])
    return Cat(Const(0, product_bits(format) - width), product)

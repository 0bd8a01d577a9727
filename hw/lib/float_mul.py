"""Floating-point multiplication. Source: IEEE 754-2019, clause 5.4.1."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Value

from hw.lib.cut_points import named
from hw.lib.float_parts import (
    Operand,
)
from hw.lib.formats import FloatFormat


def product_bits(format: FloatFormat) -> int:
    """Width of the magnitude of a product: at least what ``finish`` needs."""
    return max(2 * (format.fraction + 1), format.fraction + 3)


def product_is_nan(a: Operand, b: Operand) -> Value:
    """Whether the product is NaN: an operand is, or infinity times zero."""
    return a.is_nan | b.is_nan | (a.is_infinite & b.is_zero) | (a.is_zero & b.is_infinite)


def product_exponent(format: FloatFormat, a: Operand, b: Operand) -> Value:
    """The exponent of ``Pending`` for the product's magnitude, signed."""
    return a.exponent + b.exponent - format.bias


def multiply_magnitudes(m: Module, format: FloatFormat, a: Value, b: Value) -> Value:
    """The exact product of two significands, at the top of ``product_bits``."""
    product = named(m, "product", a * b)
    return Cat(Const(0, product_bits(format) - len(product)), product)

"""Steps that the datapaths of elementary functions have in common."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, signed
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.float.parts import Operand, Pending, at_most, exponent_bits
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.functions.numerics import position_bits, unit_bits
from gnarl.hw.lib.functions.tables import Table
from gnarl.hw.lib.products import partial_products, product_shape, sum_of


class Terms(NamedTuple):
    """A polynomial on its way to its value: what is left of its coefficients, c0 first, and t."""

    coefficients: Any
    t: Value


def look_up(m: Module, table: Table, piece: Value | None, position: Value, name: str) -> Terms:
    """The polynomial of ``table`` for a position, in one of several pieces or the only one.

    A case statement of constants, which tools make a ROM of; a register may follow it.
    """
    shapes = [Shape.cast(range(min(c), max(c) + 1)) for c in zip(*table.rows, strict=True)]
    row = Signal(sum(shape.width for shape in shapes), name=f"{name}_row")
    split = table.position_bits - table.segment_bits
    index = Cat(position[split : table.position_bits], *([] if piece is None else [piece]))
    if len(table.rows) == 1:
        m.d.comb += row.eq(_pack(table.rows[0], shapes))
    else:
        with m.Switch(index):
            for number, coefficients in enumerate(table.rows):
                with m.Case(number):
                    m.d.comb += row.eq(_pack(coefficients, shapes))
    fields, offset = [], 0
    for i, shape in enumerate(shapes):
        bits = row[offset : offset + shape.width]
        fields.append(named(m, f"{name}_c{i}", bits.as_signed() if shape.signed else bits, shape))
        offset += shape.width
    return Terms(_group(fields), position[:split])


class Multiplied(NamedTuple):
    """A polynomial whose last coefficient times t, ``product``, is still to be added to the one
    before, as numbers whose sum it is."""

    coefficients: Any
    product: list[Value]
    t: Value


def multiply(m: Module, terms: Terms, name: str) -> Multiplied:
    """The multiplication of a step of Horner's scheme, which takes away the last coefficient."""
    *before, last = terms.coefficients
    product = partial_products(m, last, terms.t, f"{name}_product_{len(before) - 1}")
    return Multiplied(_group(before), product, terms.t)


def add(m: Module, multiplied: Multiplied, name: str) -> Terms:
    """The addition of a step of Horner's scheme."""
    *before, below = multiplied.coefficients
    product, t = multiplied.product, multiplied.t
    of_product = product_shape(product)
    whole = Const(0, Shape(of_product.width - len(t), of_product.signed))
    total = sum_of([*product, below.shift_left(len(t))]).shift_right(len(t))
    shape = (below + whole).shape()
    return Terms(_group([*before, named(m, f"{name}_sum_{len(before)}", total, shape)]), t)


def value_of(terms: Terms, format: FloatFormat) -> Value:
    """The polynomial's value when only c0 is left, 0 <= value < 4, in units of the tables."""
    return terms.coefficients[0][: unit_bits(format) + 2]


def magnitude_bits(format: FloatFormat, whole_bits: int = 2) -> int:
    """Width of the magnitudes that ``condense`` makes, for ``float_parts.finish``."""
    return format.fraction + 5 + whole_bits


def condense(
    m: Module, format: FloatFormat, value: Value, point: int, whole_bits: int = 2
) -> Value:
    """A magnitude below 2**``whole_bits``, with ``point`` bits after the point, cut to F + 5, the
    last one sticky.

    It is a significand; one below 4 with its top bit set has the exponent that ``pending`` adds 1
    to.
    """
    extra = point - (format.fraction + 5)
    condensed = Cat(value[: extra + 1].any(), value[extra + 1 :])
    return named(m, "condensed", condensed[: magnitude_bits(format, whole_bits)])


def pending(
    m: Module,
    format: FloatFormat,
    exponent: Value,
    sign: Value,
    is_bypassed: Value,
    bypass: Value,
) -> Pending:
    """What ``finish`` wants to know; ``exponent`` is the biased one of a magnitude of 1 to 2.

    It has two bits more than ``finish`` needs for sums and products: the reach of the exponential,
    and of the normal distribution's tail still more, goes further beyond the format's range.
    """
    shape = signed(exponent_bits(format, magnitude_bits(format)) + 2)
    return Pending(sign, named(m, "exponent", exponent, shape), is_bypassed, bypass)


def one(format: FloatFormat, sign: Value) -> Value:
    """The bits of 1 or -1."""
    return Cat(Const(format.bias << format.fraction, format.width - 1), sign)


def zero(format: FloatFormat, sign: Value) -> Value:
    """The bits of 0 or -0."""
    return Cat(Const(0, format.width - 1), sign)


def is_beyond(m: Module, format: FloatFormat, operand: Operand, reach: int) -> Value:
    """Whether the magnitude is 2**``reach`` or more; infinity is, NaN may be."""
    return named(m, "is_beyond", (operand.exponent >= format.bias + reach) | operand.is_infinite)


class TablePosition(NamedTuple):
    """The position of a number's magnitude in a table whose piece 0 is 0 to 1, piece 1 is 1 to 2,
    piece 2 is 2 to 4, and so on."""

    is_below_one: Value
    piece: Value
    position: Value


def locate(m: Module, format: FloatFormat, operand: Operand, reach: int) -> TablePosition:
    """The place of a finite number whose magnitude is below 2**``reach``."""
    bits = position_bits(format)
    is_below_one = named(m, "is_below_one", operand.exponent < format.bias)
    piece = Mux(is_below_one, 0, operand.exponent - (format.bias - 1))
    distance = named(m, "distance", (format.bias - operand.exponent)[: format.exponent])
    padding = Const(0, bits - format.fraction)
    fixed = Cat(padding, operand.significand) >> at_most(distance, (bits + 1).bit_length())
    octave = Cat(padding, operand.significand[:-1])
    return TablePosition(
        is_below_one,
        named(m, "piece", piece[: reach.bit_length()]),
        named(m, "position", Mux(is_below_one, fixed, octave)[:bits]),
    )


def _pack(numbers: tuple[int, ...], shapes: list[Shape]) -> int:
    word, offset = 0, 0
    for number, shape in zip(numbers, shapes, strict=True):
        word |= (number & (1 << shape.width) - 1) << offset
        offset += shape.width
    return word


def _group(coefficients: list[Value]) -> Any:
    """A named tuple, which crosses a cut as one."""
    names = [f"c{i}" for i in range(len(coefficients))]
    return namedtuple("Coefficients", names)(*coefficients)

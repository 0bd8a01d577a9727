"""C's types and conversions. Source: ISO/IEC 9899:2018, sections 6.3.1 and 6.4.4."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.sw.workloads.loops.ir.nest import (
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    Select,
)
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, BY_NAME, FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.refusals import FINITE, NOT_BELOW
from gnarl.sw.workloads.text_file import is_not_zero

UINT32 = BY_NAME["uint32"]

TYPES: dict[str, ScalarType] = {
    "float": FLOAT32,
    "int": INT32,
    "signed": INT32,
    "signed int": INT32,
    "unsigned": UINT32,
    "unsigned int": UINT32,
    "short": BY_NAME["int16"],
    "short int": BY_NAME["int16"],
    "unsigned short": BY_NAME["uint16"],
    "unsigned short int": BY_NAME["uint16"],
    "signed char": BY_NAME["int8"],
    "unsigned char": BY_NAME["uint8"],
    "_Bool": BOOL,
    "bool": BOOL,
    **{f"{name}_t": BY_NAME[name] for name in BY_NAME if BY_NAME[name].is_integer},
}
"""Types of 32 bits or fewer that mean the same everywhere, by what C calls them; the others, plain
``char`` among them, are refused."""

_INTEGER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)([uU]?)")
_FLOAT = re.compile(r"(-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)([fF]?)")

_MOST_DIGITS = 100
"""Digits of whole numbers, which may begin with zeros; one with more is beyond all types."""

_LEAST_INT = f"{INT32.least}"


def literal(text: str, place: Location) -> Constant | float | None:
    """The constant that a number spells, or the value of a double; ``None`` for anything else,
    such as a decimal number that is a ``long`` (C11, 6.4.4.1). What ``-`` stands before has the
    number's own type; the least int is given as one, see ``is_long``. ``WorkloadError`` for a
    number that float64 does not hold."""
    if matched := _INTEGER.fullmatch(text):
        if text == _LEAST_INT:
            return Constant(INT32.least, INT32, place)
        sign, digits, suffix = matched.groups()
        number = _whole_number(digits, bool(suffix), place)
        return negative(number) if sign and number is not None else number
    if matched := _FLOAT.fullmatch(text):
        real = float(matched[1])
        if not math.isfinite(real):
            raise WorkloadError(f"{place}: {short(text)}: {FINITE}")
        if real == 0 and is_not_zero(matched[1]):
            raise WorkloadError(f"{place}: {short(text)}: {NOT_BELOW}")
        return rounded(real, place) if matched[2] else real
    return None


def _whole_number(digits: str, is_unsigned: bool, place: Location) -> Constant | None:
    """The constant that digits in C spell, ``is_unsigned`` by its suffix; ``None``: a ``long``."""
    if len(digits) > _MOST_DIGITS:
        return None
    is_decimal = not digits.startswith("0")
    value = int(digits, 8 if digits.isdigit() and not is_decimal else 0)
    if value <= INT32.most and not is_unsigned:
        return Constant(value, INT32, place)
    if value <= UINT32.most and (is_unsigned or not is_decimal):
        return Constant(value, UINT32, place)
    return None


def negative(number: Constant) -> Constant:
    """The constant of the same type with ``-`` before it; an unsigned one wraps."""
    value = -number.value
    return replace(number, value=int(value) & UINT32.most if number.type == UINT32 else value)


def is_long(value: Expression | float | None) -> bool:
    """Whether a literal is C's -2147483648, whose digits are a long: an int where it is assigned,
    cast or compared with one, but arithmetic with it is of 64 bits."""
    return isinstance(value, Constant) and value.type == INT32 and value.value == INT32.least


def rounded(value: float, place: Location) -> Constant | None:
    """A float32 constant, if it is finite."""
    with np.errstate(over="ignore"):
        nearest = float(np.float32(value))
    return Constant(nearest, FLOAT32, place) if np.isfinite(nearest) else None


def convert(value: Expression, type: ScalarType) -> Expression:
    """Converts as C does in an assignment. An integer beyond its type wraps; a float beyond it,
    which C leaves undefined, is an error when the nest runs."""
    if value.type == type:
        return value
    if value.type == BOOL:
        one, zero = (convert(Constant(bit, INT32, value.place), type) for bit in (1, 0))
        return Select(value, one, zero, value.place)
    if type == BOOL:
        return truth(value)
    if isinstance(value, Constant) and value.type.is_integer:
        if type == FLOAT32:
            constant = rounded(float(value.value), value.place)
            return constant or Cast(type, value, value.place)
        wrapped = int(value.value) - type.least & (1 << type.bits) - 1
        return Constant(wrapped + type.least, type, value.place)
    return Cast(type, value, value.place)


def truth(value: Expression) -> Expression:
    """Whether it is not 0."""
    if value.type == BOOL:
        return value
    zero = convert(Constant(0, INT32, value.place), value.type)
    return Binary(BinaryOperator.NOT_EQUAL, value, zero, value.place)


def promote(value: Expression) -> Expression:
    """Integers that int holds become int."""
    if value.type == BOOL or (value.type.is_integer and value.type != UINT32):
        return convert(value, INT32)
    return value


def usual(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """The usual arithmetic conversions."""
    left, right = promote(left), promote(right)
    for type in (FLOAT32, UINT32):
        if type in (left.type, right.type):
            return convert(left, type), convert(right, type)
    return left, right

"""C's types and conversions. Source: ISO/IEC 9899:2018, sections 6.3.1 and 6.4.4."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.sw.workloads.loops.ir.nest import (
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    Select,
    Unary,
    Variable,
)
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, BY_NAME, FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.refusals import FINITE, NOT_BELOW
from gnarl.sw.workloads.text_file import is_not_zero

UINT32 = BY_NAME["uint32"]

SIZE = ScalarType("size_t", "u", 64)
"""Of variables and of what is made of them, until it becomes an index, a bound or a number of 32
bits: see ``narrowed``. Variables are never more than ``INT32.most``."""

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
    "char": BY_NAME["int8"],
    "signed char": BY_NAME["int8"],
    "unsigned char": BY_NAME["uint8"],
    "_Bool": BOOL,
    "bool": BOOL,
    **{f"{name}_t": BY_NAME[name] for name in BY_NAME if BY_NAME[name].is_integer},
    "size_t": SIZE,
}
"""Types of 32 bits or fewer by what C calls them, ``char`` with a sign as for x86, and ``SIZE``;
the others are refused."""

_INTEGER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)([uU]?)")
_FLOAT = re.compile(r"(-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)([fF]?)")

_FAR = 1 << 16

_MOST_DIGITS = 100
"""Digits of whole numbers, which may begin with zeros; one with more is beyond all types."""

_LEAST_INT = f"{INT32.least}"


@dataclass(frozen=True)
class Double:
    """A number of type double. ``nearest``: the float next to it, as if there were an f behind it;
    ``None`` where that is infinite."""

    value: float
    nearest: Constant | None

    def __neg__(self) -> Double:
        nearest = None if self.nearest is None else replace(self.nearest, value=-self.nearest.value)
        return Double(-self.value, nearest)

    @property
    def exact(self) -> Constant | None:
        """The float, if it has the double's value."""
        is_exact = self.nearest is not None and self.nearest.value == self.value
        return self.nearest if is_exact else None


def literal(text: str, place: Location) -> Constant | Double | None:
    """What a number spells; ``None`` for anything else, such as a decimal number that is a ``long``
    (C11, 6.4.4.1). What ``-`` stands before has the number's own type; the least int is given as
    one, see ``is_long``. ``WorkloadError`` for a number that float64 does not hold."""
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
        nearest = _nearest(matched[1])
        constant = Constant(nearest, FLOAT32, place) if math.isfinite(nearest) else None
        return constant if matched[2] else Double(real, constant)
    return None


def _nearest(text: str) -> float:
    """The float32 nearest to a decimal number, which is rounded once: not to float64 before."""
    real = float(text)
    with np.errstate(over="ignore"):
        found = np.float32(real)
    exact = Fraction(text)
    if not np.isfinite(found) or exact == Fraction(real):
        return float(found)
    towards = np.float32(np.inf if exact > Fraction(real) else -np.inf)
    other = np.nextafter(np.float32(found), towards)
    if np.isfinite(other):
        middle = (Fraction(float(found)) + Fraction(float(other))) / 2
        if Fraction(real) == middle:  # float64 lies between both, the number itself does not
            return float(other)
    return float(found)


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


def is_long(value: Expression | Double | None) -> bool:
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
    if type == SIZE:
        return _size(value)
    if value.type == SIZE:
        if type in (BOOL, FLOAT32):
            require_plain(value)
        return convert(narrowed(value), type)
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
    if isinstance(value, Constant) and type.least - 1 < value.value < type.most + 1:
        return Constant(int(value.value), type, value.place)
    return Cast(type, value, value.place)


def truth(value: Expression) -> Expression:
    """Whether it is not 0."""
    if value.type == BOOL:
        return value
    if value.type == SIZE:
        return convert(value, BOOL)
    zero = convert(Constant(0, INT32, value.place), value.type)
    return Binary(BinaryOperator.NOT_EQUAL, value, zero, value.place)


def promote(value: Expression) -> Expression:
    """Integers that int holds become int."""
    if value.type in (UINT32, SIZE):
        return value
    return convert(value, INT32) if value.type == BOOL or value.type.is_integer else value


def usual(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """The usual arithmetic conversions."""
    left, right = promote(left), promote(right)
    for type in (FLOAT32, SIZE, UINT32):
        if type in (left.type, right.type):
            return convert(left, type), convert(right, type)
    return left, right


def _size(value: Expression) -> Expression:
    if isinstance(value, Constant) and value.type.is_integer and value.value >= 0:
        return replace(value, type=SIZE)
    return Cast(
        SIZE, convert(value, INT32) if value.type in (BOOL, FLOAT32) else value, value.place
    )


def narrowed(value: Expression) -> Expression:
    """The low 32 bits of a ``SIZE`` as int32: all of them where it is an index of an array, or a
    bound of a loop that ends."""
    match value:
        case Variable():
            return replace(value, type=INT32)
        case Constant():
            return convert(replace(value, type=UINT32), INT32)
        case Cast(_, operand):
            return convert(operand, INT32)
        case Unary(operator, operand, place):
            return Unary(operator, narrowed(operand), place)
        case Binary(operator, left, right, place):
            count = narrowed(right) if right.type == SIZE else right
            return Binary(operator, narrowed(left), count, place)
        case Select(condition, chosen, other, place):
            return Select(condition, narrowed(chosen), narrowed(other), place)
    raise TypeError(value)


def require_plain(value: Expression, sizes: Collection[str] = ()) -> None:
    """Raises ``WorkloadError`` unless a ``SIZE`` is from 0 to ``INT32.most``: only then are its low
    bits all there is of it. ``sizes``: names of int32 that are never negative."""
    if not _is_plain(value, sizes):
        raise WorkloadError(
            f"{value.place}: arithmetic of size_t is of 64 bits: must be of int, but for indices"
        )


def _is_plain(value: Expression, sizes: Collection[str]) -> bool:
    match value:
        case Variable():
            return True
        case Constant(number):
            return number <= INT32.most
        case Cast(_, Variable(name)) if name in sizes:
            return True
        case Cast(_, operand):
            return operand.type.kind == "u" and operand.type.bits < 32
        case Binary("&", left, right):
            return _is_plain(left, sizes) or _is_plain(right, sizes)
        case Binary("//" | "%" | "|" | "^", left, right):
            return _is_plain(left, sizes) and _is_plain(right, sizes)
        case Binary("+", Variable(), Constant(number)) | Binary("+", Constant(number), Variable()):
            return number <= _FAR  # an element that there is lies so far before the largest index
    return False

"""Makes expressions of integers: indices, sizes, positions and their bits."""

from __future__ import annotations

from gnarl.sw.workloads.loops.ir.nest import Binary, BinaryOperator, Constant, Expression, Variable
from gnarl.sw.workloads.loops.ir.scalar_type import INT32
from gnarl.sw.workloads.place import Location


def integer(value: int, place: Location) -> Constant:
    return Constant(value, INT32, place)


def variable(name: str, place: Location) -> Variable:
    return Variable(name, INT32, place)


def add(left: Expression, right: Expression, place: Location) -> Binary:
    return Binary(BinaryOperator.ADD, left, right, place)


def multiply(left: Expression, right: Expression, place: Location) -> Binary:
    return Binary(BinaryOperator.MULTIPLY, left, right, place)


def one_more(value: Expression, place: Location) -> Binary:
    return add(value, integer(1, place), place)


def inverted(value: Expression, place: Location) -> Binary:
    """All bits of an integer, turned around."""
    ones = value.type.most if value.type.kind == "u" else -1
    return Binary(BinaryOperator.BIT_XOR, value, Constant(ones, value.type, place), place)

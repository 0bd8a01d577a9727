"""Makes expressions of int32: indices, sizes and positions."""

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

"""Runs loop nests statement by statement on NumPy's scalars: an opinion apart from the golden
model's."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    AugmentedStore,
    Binary,
    Cast,
    Constant,
    Expression,
    Fiber,
    For,
    If,
    Load,
    Merge,
    Nest,
    Select,
    Statement,
    Store,
    Unary,
    Variable,
)
from gnarl.sw.workloads.place import Location

NAN = np.uint32(0x7FC00000).view(np.float32)


class Stopped(Exception):
    """An error of the nest; its text begins with the place."""


def interpret(nest: Nest, binding: Binding) -> dict[str, np.ndarray]:
    """As ``GoldenLoops.run``; raises ``Stopped``."""
    arrays = {name: array.copy() for name, array in binding.arrays.items()}
    scalars: dict[str, Any] = {name: np.int32(size) for name, size in binding.sizes.items()}
    scalars |= {name: value[()] for name, value in binding.scalars.items()}
    with np.errstate(all="ignore"):
        _Run(arrays, scalars).block(nest.body)
    return {name: arrays[name] for name in nest.results}


def _are_offsets(lower: Expression, upper: Expression) -> bool:
    """Whether bounds are offsets that are not taken from locals."""
    starts = isinstance(lower, Load) or (isinstance(lower, Constant) and lower.value == 0)
    return starts and isinstance(upper, Load)


def _stop(place: Location, text: str) -> None:
    raise Stopped(f"{place}: {text}")


class _Run:
    def __init__(self, arrays: dict[str, np.ndarray], scalars: dict[str, Any]) -> None:
        self.arrays, self.scalars = arrays, scalars

    def block(self, body: Iterable[Statement]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Statement) -> None:
        match statement:
            case For():
                lower, upper = self.value(statement.lower), self.value(statement.upper)
                if lower > upper and _are_offsets(statement.lower, statement.upper):
                    _stop(statement.upper.place, "decreases")
                for index in range(int(lower), int(upper), statement.step):
                    self.scalars[statement.variable] = np.int32(index)
                    self.block(statement.body)
            case Merge():
                self.merge(statement)
            case Store(array, indices, value, place):
                stored = self.value(value)
                self.arrays[array][self.index(array, indices, place)] = stored
            case AugmentedStore(operator, array, indices, value, place):
                at = self.index(array, indices, place)
                left = self.arrays[array][at]
                stored = _binary(operator, left, self.value(value), place, value.place)
                self.arrays[array][at] = stored
            case Assign(name, value):
                self.scalars[name] = self.value(value)
            case If(condition, then, otherwise):
                self.block(then if self.value(condition) else otherwise)

    def merge(self, loop: Merge) -> None:
        bounds = [
            (int(self.value(fiber.lower)), int(self.value(fiber.upper))) for fiber in loop.fibers
        ]
        sides = [
            self.fiber(fiber, *bound) for fiber, bound in zip(loop.fibers, bounds, strict=True)
        ]
        both = set(sides[0]) & set(sides[1])
        for coordinate in sorted(both if loop.kind == "intersect" else set(sides[0] + sides[1])):
            self.scalars[loop.coordinate] = np.int32(coordinate)
            for name, side, (lower, _) in zip(loop.positions, sides, bounds, strict=True):
                before = sum(other < coordinate for other in side)
                self.scalars[name] = np.int32(lower + before)
            for name, side in zip(loop.present, sides, strict=False):
                self.scalars[name] = coordinate in side
            self.block(loop.body)

    def fiber(self, fiber: Fiber, lower: int, upper: int) -> list[int]:
        array = self.arrays[fiber.array]
        if lower >= upper:
            return []
        if lower < 0 or upper > len(array):
            _stop(fiber.place, "outside")
        side: list[int] = array[lower:upper].tolist()
        if side != sorted(set(side)):
            _stop(fiber.place, "not ascending")
        return side

    def index(self, array: str, indices: Iterable[Expression], place: Location) -> tuple[int, ...]:
        at = tuple(int(self.value(index)) for index in indices)
        for value, length in zip(at, self.arrays[array].shape, strict=True):
            if not 0 <= value < length:
                _stop(place, f"{array}: index {value}")
        return at

    def value(self, expression: Expression) -> Any:
        match expression:
            case Constant(value, type):
                return bool(value) if type.kind == "b" else type.dtype.type(value)
            case Variable(name):
                return self.scalars[name]
            case Load(array, indices, _, place):
                return self.arrays[array][self.index(array, indices, place)]
            case Unary(operator, operand):
                return _unary(operator, self.value(operand))
            case Binary("and", left, right):
                return bool(self.value(left)) and bool(self.value(right))
            case Binary("or", left, right):
                return bool(self.value(left)) or bool(self.value(right))
            case Binary(operator, left, right, place):
                return _binary(operator, self.value(left), self.value(right), place, right.place)
            case Select(condition, chosen, other):
                return self.value(chosen if self.value(condition) else other)
            case Cast(type, operand, place):
                return _cast(self.value(operand), type.dtype, place)
        raise TypeError(expression)


def _unary(operator: str, operand: Any) -> Any:
    if operator == "not":
        return not operand
    if operator == "sqrt":
        return _canonical(np.sqrt(operand))
    if operand.dtype != np.float32:
        return -operand if operator == "-" else abs(operand)
    bits = int(operand.view(np.uint32))
    bits = bits ^ 1 << 31 if operator == "-" else bits & (1 << 31) - 1
    return np.uint32(bits).view(np.float32)


def _binary(operator: str, left: Any, right: Any, place: Location, right_place: Location) -> Any:
    if operator in ("<<", ">>"):
        if not 0 <= int(right) < left.dtype.itemsize * 8:
            _stop(right_place, f"shift by {right}")
        function: Any = np.left_shift if operator == "<<" else np.right_shift
        return function(left, left.dtype.type(right))
    if operator in ("//", "%"):
        if right == 0:
            _stop(place, "by 0")
        return (np.floor_divide if operator == "//" else np.remainder)(left, right)
    bitwise: dict[str, Any] = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
    if operator in bitwise:
        return bitwise[operator](left, right)
    if operator in ("min", "max"):
        return _extreme(left, right, operator == "max")
    comparisons: dict[str, Any] = {
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
        "==": np.equal,
        "!=": np.not_equal,
    }
    if operator in comparisons:
        return bool(comparisons[operator](left, right))
    functions: dict[str, Any] = {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "/": np.divide,
    }
    return _canonical(functions[operator](left, right))


def _extreme(left: Any, right: Any, largest: bool) -> Any:
    if np.isnan(left) or np.isnan(right):
        return NAN

    def rank(number: Any) -> tuple[float, float]:
        return float(number), math.copysign(1.0, float(number))

    return max(left, right, key=rank) if largest else min(left, right, key=rank)


def _cast(value: Any, type: np.dtype, place: Location) -> Any:
    if value.dtype == np.float32 and type != np.float32:
        limits = np.iinfo(type)
        if not math.isfinite(value) or not limits.min <= math.trunc(float(value)) <= limits.max:
            _stop(place, f"{value} to {type}")
        return type.type(math.trunc(float(value)))
    return value.astype(type)


def _canonical(value: Any) -> Any:
    return NAN if np.isnan(value) else value

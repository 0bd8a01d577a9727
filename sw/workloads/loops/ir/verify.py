"""Checks that a nest means something: names, types and shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NoReturn

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.ir.expression_types import require_expression_types
from gnarl.sw.workloads.loops.ir.names import identifier_problem, name_problem
from gnarl.sw.workloads.loops.ir.nest import (
    AUGMENTING,
    Array,
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
    MergeKind,
    Nest,
    Select,
    Statement,
    Store,
    Unary,
    Variable,
    statements,
)
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, INT32, ScalarType
from gnarl.sw.workloads.place import Location


def verify(nest: Nest, *, in_notation: bool = False) -> None:
    """Raises ``WorkloadError``, "file:line:column: …", for the first thing that is wrong.
    ``in_notation``: whether names must be none of its words.

    O(nodes · names).
    """
    _Verifier(nest, name_problem if in_notation else identifier_problem).verify()


def refuse(place: Location, text: str) -> NoReturn:
    raise WorkloadError(f"{place}: {text}")


class _Verifier:
    def __init__(self, nest: Nest, name_problem: Callable[[str], str | None]) -> None:
        self._nest = nest
        self._name_problem = name_problem
        self._arrays = nest.arrays
        self._sizes = {size.name for size in nest.sizes}
        # What each name is, and of which type: one throughout the nest.
        self._roles: dict[str, str] = {}
        self._types: dict[str, ScalarType] = {}

    def verify(self) -> None:
        nest = self._nest
        self._require_name(nest.name, nest.place)
        for size in nest.sizes:
            self._declare(size.name, "a size", INT32, size.place)
        for parameter in nest.parameters:
            role = "an array" if isinstance(parameter, Array) else "a scalar parameter"
            self._declare(parameter.name, role, parameter.type, parameter.place)
        for array in self._arrays.values():
            if not array.type.is_number:
                refuse(array.place, f"{array.name} is an array of bool: must be of numbers")
            if not array.shape:
                refuse(array.place, f"{array.name} has no dimension: must be a scalar instead")
            for dimension in array.shape:
                self._size(dimension, array)
        for name in nest.temporaries:
            if name not in nest.results:
                refuse(self._arrays[name].place, f"{name} is never written: must be")
        self._block(nest.body, self._sizes | set(nest.scalars))

    def _require_name(self, name: str, place: Location) -> None:
        if problem := self._name_problem(name):
            refuse(place, problem)

    def _declare(self, name: str, role: str, type: ScalarType, place: Location) -> None:
        self._require_name(name, place)
        if name in self._roles:
            refuse(place, f"{name} is {self._roles[name]} already: must be another name")
        self._roles[name], self._types[name] = role, type

    def _define(self, name: str, role: str, type: ScalarType, place: Location) -> None:
        """Declares as ``_declare`` does, but the same thing may be defined more than once."""
        if self._roles.get(name) != role:
            self._declare(name, role, type, place)
        if self._types[name] != type:
            refuse(place, f"{name} is {self._types[name]} elsewhere: must not be {type} here")

    def _size(self, size: Expression, array: Array) -> None:
        """Verifies the size of an array's dimension."""
        match size:
            case Constant() if size.type == INT32:
                pass
            case Variable() if size.name in self._sizes:
                pass
            case Binary("+" | "-" | "*", left, right):
                self._size(left, array)
                self._size(right, array)
            case _:
                refuse(
                    size.place,
                    f"shape of {array.name}: must be made of sizes, whole numbers, +, - and *",
                )

    def _block(self, body: Iterable[Statement], known: set[str]) -> set[str]:
        """``known`` are the scalars that have a value before it; gives those that have one after
        it."""
        for statement in body:
            known = self._statement(statement, known)
        return known

    def _statement(self, statement: Statement, known: set[str]) -> set[str]:
        match statement:
            case For():
                self._for(statement, known)
            case Merge():
                self._merge(statement, known)
            case Store(array, indices, value, place):
                self._expression(value, known)
                self._element(array, indices, known, place)
                self._require_type(value, self._arrays[array].type, f"what {array} stores")
            case AugmentedStore(operator, array, indices, value, place):
                if operator not in AUGMENTING:
                    refuse(place, f"{operator} cannot augment a store: must be arithmetic")
                self._element(array, indices, known, place)
                self._expression(value, known)
                element = Load(array, indices, self._arrays[array].type, place)
                require_expression_types(Binary(operator, element, value, place))
            case Assign(name, value, place):
                self._expression(value, known)
                self._define(name, "a local", value.type, place)
                return known | {name}
            case If(condition, then, otherwise):
                self._expression(condition, known)
                self._require_type(condition, BOOL, "a condition")
                return self._block(then, known) & self._block(otherwise, known)
        return known

    def _for(self, loop: For, known: set[str]) -> None:
        for bound in (loop.lower, loop.upper):
            self._expression(bound, known)
            self._require_type(bound, INT32, "a bound")
        if loop.step < 1:
            refuse(loop.place, f"step = {loop.step}: must be at least 1")
        self._enter(loop.variable, INT32, known, loop.place)
        self._block(loop.body, known | {loop.variable})

    def _merge(self, loop: Merge, known: set[str]) -> None:
        for fiber in loop.fibers:
            self._fiber(fiber, known)
        expected = 2 if loop.kind == MergeKind.UNION else 0
        if len(loop.present) != expected:
            refuse(
                loop.place,
                f"{loop.kind} gives {len(loop.present)} flags: must be {expected}",
            )
        inside = set(known)
        for name in (loop.coordinate, *loop.positions, *loop.present):
            self._enter(name, BOOL if name in loop.present else INT32, inside, loop.place)
            inside.add(name)
        self._block(loop.body, inside)
        for statement in statements(loop.body):
            if isinstance(statement, Store | AugmentedStore):
                if statement.array in {fiber.array for fiber in loop.fibers}:
                    refuse(
                        statement.place,
                        f"{statement.array} is written while a loop merges it: must be read only",
                    )

    def _enter(self, name: str, type: ScalarType, known: set[str], place: Location) -> None:
        """A loop's variable; loops one after the other may share its name."""
        if name in known and self._roles.get(name) == "a loop variable":
            refuse(place, f"{name} is the variable of a loop around it: must be another name")
        self._define(name, "a loop variable", type, place)

    def _fiber(self, fiber: Fiber, known: set[str]) -> None:
        self._array(fiber.array, 1, fiber.place)
        type = self._arrays[fiber.array].type
        if not (type.is_integer and INT32.holds(type)):
            refuse(fiber.place, f"coordinates {fiber.array} are {type}: must be integers of int32")
        for bound in (fiber.lower, fiber.upper):
            self._expression(bound, known)
            self._require_type(bound, INT32, "a bound")

    def _array(self, name: str, indices: int, place: Location) -> None:
        if name not in self._arrays:
            refuse(place, f"{name} is {self._roles.get(name, 'not defined')}: must be an array")
        order = len(self._arrays[name].shape)
        if order != indices:
            refuse(place, f"{name} has {_count(order, 'dimension')}, not {indices}")

    def _element(
        self, array: str, indices: tuple[Expression, ...], known: set[str], place: Location
    ) -> None:
        self._array(array, len(indices), place)
        for index in indices:
            self._expression(index, known)
            self._require_type(index, INT32, "an index")
            if isinstance(index, Constant) and index.value < 0:
                refuse(
                    index.place,
                    f"index {index.value}: must be at least 0; none counts from the end",
                )

    def _require_type(self, value: Expression, type: ScalarType, what: str) -> None:
        if value.type != type:
            refuse(value.place, f"{what} is {value.type}: must be {type}")

    def _expression(self, expression: Expression, known: set[str]) -> None:
        match expression:
            case Constant():
                _constant(expression)
            case Variable():
                self._variable(expression, known)
            case Load(array, indices, type, place):
                self._element(array, indices, known, place)
                if type != self._arrays[array].type:
                    refuse(place, f"{array} is {self._arrays[array].type}: must not be {type} here")
            case Unary(_, operand) | Cast(_, operand):
                self._expression(operand, known)
            case Binary(_, left, right):
                self._expression(left, known)
                self._expression(right, known)
            case Select(condition, chosen, other):
                for part in (condition, chosen, other):
                    self._expression(part, known)
        require_expression_types(expression)

    def _variable(self, variable: Variable, known: set[str]) -> None:
        name, place = variable.name, variable.place
        if name in self._arrays:
            refuse(place, f"{name} is an array: must have indices")
        if name not in self._roles:
            refuse(place, f"{name} is not defined")
        if name not in known:
            refuse(place, f"{name} may have no value here: must be assigned on every way to it")
        if variable.type != self._types[name]:
            refuse(place, f"{name} is {self._types[name]}: must not be {variable.type} here")


def _constant(constant: Constant) -> None:
    value, type, place = constant.value, constant.type, constant.place
    if type.is_integer:
        if not (isinstance(value, int) and type.least <= value <= type.most):
            refuse(place, f"{value} is not in {type}: must be from {type.least} to {type.most}")
    elif type.is_number:
        with np.errstate(over="ignore"):
            if not (isinstance(value, float) and float(np.float32(value)) == value):
                refuse(place, f"{value} is not in float32: must be rounded to it")
    elif not isinstance(value, bool):
        refuse(place, f"{value} is not in bool: must be True or False")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

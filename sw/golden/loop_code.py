"""Loop nests as Python functions, which numba can compile.

Integers of all types are int64 within their type's range, wrapped after every operation that may
leave it; no two of them make more than 64 bits, of which the lower ones are right. Every operation
stands in a statement of its own, and what may fail is tested before: the function then notes what
it found and returns the number of the ``Trap``. It returns ``DONE`` when all is well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import (
    COMPARISONS,
    LOGICAL,
    SHIFTS,
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
)
from gnarl.sw.workloads.loops.ir.ordered_bounds import OrderedBounds
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, ScalarType
from gnarl.sw.workloads.place import Location

DONE, UNFINISHED = -1, -2
"""What functions return where nothing is wrong: that they ended, or that they stopped since there
is more to do than they may."""


@dataclass(frozen=True)
class Trap:
    """``text`` has places for the numbers that the function noted."""

    place: Location
    text: str


@dataclass(frozen=True)
class MemoryLayout:
    """The layout of arrays in a memory of lines: the first word of each, elements being a word."""

    bases: Mapping[str, int]
    line_words: int


class LoopCode:
    """The function ``run(sizes…, scalars…, arrays…, notes, most)`` of a nest, ``notes`` int64
    [notes].

    ``real`` is NumPy's type of what the nest calls float32, arrays and scalars included. In the
    end, ``notes[0]`` has the iterations of all loops, and one for each loop that was begun. The
    function stops before a loop with which there would be more than ``most``.

    With a ``layout`` there is one more parameter ``lines`` behind ``most``, int64 [n]: the
    first n lines are noted from which arrays that the nest does not write are read, lines that are
    the array's last one left out. Then ``notes`` goes on with the operations on float32 that were
    done, how many of them were products, those on integers that are no indices or bounds, and how
    many lines there are.

    source
        the text of a module that has the function and refers to NumPy alone.
    lines
        those of the function.
    traps
        what may go wrong.
    notes
        numbers that it notes, at most.
    """

    def __init__(
        self,
        nest: Nest,
        real: type[np.floating[Any]] = np.float32,
        layout: MemoryLayout | None = None,
    ) -> None:
        self.traps: list[Trap] = []
        counts = ["iterations"]
        if layout is not None:
            counts += ["operations", "products", "integers", "count"]
        self.notes = len(counts)
        self._constants: list[str] = []
        self._real = real
        self._nest = nest
        self._arrays = nest.arrays
        self._ordered = OrderedBounds(nest)
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0
        self._is_value = False
        parameters = [size.name for size in nest.sizes] + [*nest.scalars, *nest.arrays]
        self._layout = layout
        more = "" if layout is None else ", lines"
        self._line(f"def run({', '.join(map(_name, parameters))}, notes, most{more}):")
        with self._indented():
            self._line(f"{' = '.join(counts)} = 0")
            for name in self._noted:
                self._line(f"last_{name} = -1")
            for name, array in self._arrays.items():
                for axis in range(len(array.shape)):
                    self._line(f"{_length(name, axis)} = {_name(name)}.shape[{axis}]")
            self._block(nest.body)
            for at, count in enumerate(counts):
                self._line(f"notes[{at}] = {count}")
            self._line(f"return {DONE}")
        constants = [
            *zip(("NAN", "ONE", "MINUS_ONE"), map(self._text, (np.nan, 1, -1)), strict=True),
            *((f"c{number}", text) for number, text in enumerate(self._constants)),
        ]
        head = ["import numpy as np", *(f"{name} = {text}" for name, text in constants)]
        self.source = "\n".join([*head, *self._lines]) + "\n"
        self.lines = len(self._lines)

    def _text(self, value: float) -> str:
        """A number with all its bits."""
        number = self._real(value)
        bits = f"uint{8 * number.itemsize}"
        return f"np.{bits}({number.view(bits)}).view(np.{self._real.__name__})"

    @cached_property
    def _noted(self) -> list[str]:
        """Arrays whose lines are noted."""
        if self._layout is None:
            return []
        results = self._nest.results
        return [name for name in self._arrays if name not in results]

    def _note_line(self, array: str, values: list[str]) -> None:
        """Notes where the element lies."""
        if self._layout is None or array not in self._noted:
            return
        place = values[0] if values else "0"
        for axis, value in enumerate(values[1:], 1):
            place = f"({place}) * {_length(array, axis)} + {value}"
        base, words = self._layout.bases[array], self._layout.line_words
        line = self._value(f"({base} + {place}) // {words}")
        self._line(f"if {line} != last_{array}:")
        with self._indented():
            self._line(f"last_{array} = {line}")
            self._line("if count < len(lines):")
            with self._indented():
                self._line(f"lines[count] = {line}")
            self._line("count += 1")

    def _note_operation(self, type: ScalarType, is_product: bool = False) -> None:
        if self._layout is None:
            return
        if type == FLOAT32:
            self._line("operations += 1")
            if is_product:
                self._line("products += 1")
        elif type.is_integer and self._is_value:
            self._line("integers += 1")

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def _indented(self) -> Any:
        self._depth += 1
        yield
        self._depth -= 1

    def _new(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _value(self, text: str) -> str:
        """A name for what a text computes."""
        name = self._new()
        self._line(f"{name} = {text}")
        return name

    def _trap(self, condition: str, place: Location, text: str, *notes: str) -> None:
        """Stops the function if the condition holds."""
        self._line(f"if {condition}:")
        with self._indented():
            for at, note in enumerate(notes):
                self._line(f"notes[{at}] = {note}")
            self._line(f"return {len(self.traps)}")
        self.traps.append(Trap(place, text))
        self.notes = max(self.notes, len(notes))

    def _block(self, body: Iterable[Statement]) -> None:
        """Inside an indentation."""
        before = len(self._lines)
        for statement in body:
            self._statement(statement)
        if len(self._lines) == before:
            self._line("pass")

    def _statement(self, statement: Statement) -> None:
        match statement:
            case For(variable, lower, upper, step, body):
                first, last = self._expression(lower), self._expression(upper)
                self._check_order(statement, first, last)
                self._count_iterations(f"max(0, {last} - {first} + {step - 1}) // {step}")
                self._line(f"for {_name(variable)} in range({first}, {last}, {step}):")
                with self._indented():
                    self._block(body)
            case Merge():
                self._merge(statement)
            case Store(array, indices, value, place):
                stored = self._data(value)
                self._line(f"{self._element(array, indices, place)} = {stored}")
            case AugmentedStore(operator, array, indices, value, place):
                element = self._element(array, indices, place)
                type = self._arrays[array].type
                left = self._load(element, type)
                right = self._data(value)
                with self._values(True):
                    result = self._binary(operator, left, right, type, value, place)
                self._line(f"{element} = {result}")
            case Assign(name, value):
                self._line(f"{_name(name)} = {self._data(value)}")
            case If(condition, then, otherwise):
                self._line(f"if {self._data(condition)}:")
                with self._indented():
                    self._block(then)
                self._line("else:")
                with self._indented():
                    self._block(otherwise)

    def _count_iterations(self, count: str) -> None:
        self._line(f"iterations += {count} + 1")
        self._line("if iterations > most:")
        with self._indented():
            self._line(f"return {UNFINISHED}")

    def _check_order(self, loop: For, first: str, last: str) -> None:
        """Offsets that do not decrease, and no length below 0."""
        order = self._ordered[loop]
        if order is None:
            return
        element = order.element
        self._line(f"if {last} < {first}:")
        with self._indented():
            value = self._expression(element)
            notes = [self._expression(index) for index in element.indices]
            places = ", ".join(["{}"] * len(notes))
            wanted = "0, as a loop's length" if order.is_length else "{}, where the loop begins"
            text = f"{element.array}[{places}] = {{}}: must be at least {wanted}"
            self._trap("True", element.place, text, *notes, value, first)

    def _merge(self, loop: Merge) -> None:
        # Names of their own: the body may assign to what the bounds are made of.
        bounds = [
            (self._value(self._expression(fiber.lower)), self._value(self._expression(fiber.upper)))
            for fiber in loop.fibers
        ]
        self._count_iterations(" + ".join(f"max(0, {upper} - {lower})" for lower, upper in bounds))
        for fiber, (lower, upper) in zip(loop.fibers, bounds, strict=True):
            self._check_fiber(fiber, lower, upper)
        at = [self._value(lower) for lower, _ in bounds]
        left, right = (f"{at[number]} < {bounds[number][1]}" for number in range(2))
        joined = "and" if loop.kind == MergeKind.INTERSECT else "or"
        has, coordinate = [self._new(), self._new()], [self._new(), self._new()]
        self._line(f"while {left} {joined} {right}:")
        with self._indented():
            for number, (fiber, condition) in enumerate(
                zip(loop.fibers, (left, right), strict=True)
            ):
                # Past every coordinate where the fiber has ended.
                self._line(f"{coordinate[number]} = 1 << 32")
                self._line(f"if {condition}:")
                with self._indented():
                    self._note_line(fiber.array, [at[number]])
                    element = f"{_name(fiber.array)}[{at[number]}]"
                    self._line(f"{coordinate[number]} = np.int64({element})")
            self._line(f"{has[0]} = {coordinate[0]} <= {coordinate[1]}")
            self._line(f"{has[1]} = {coordinate[1]} <= {coordinate[0]}")
            both = "True" if loop.kind == MergeKind.UNION else f"{has[0]} and {has[1]}"
            self._line(f"if {both}:")
            with self._indented():
                lesser = f"{coordinate[0]} if {has[0]} else {coordinate[1]}"
                self._line(f"{_name(loop.coordinate)} = {lesser}")
                for name, source in zip(loop.positions, at, strict=True):
                    self._line(f"{_name(name)} = {source}")
                for name, source in zip(loop.present, has, strict=False):
                    self._line(f"{_name(name)} = {source}")
                self._block(loop.body)
            for source, condition in zip(at, has, strict=True):
                self._line(f"if {condition}:")
                with self._indented():
                    self._line(f"{source} += 1")

    def _check_fiber(self, fiber: Fiber, lower: str, upper: str) -> None:
        length = _length(fiber.array, 0)
        self._trap(
            f"{lower} < {upper} and ({lower} < 0 or {upper} > {length})",
            fiber.place,
            f"{fiber.array}[{{}}:{{}}]: must lie within its {{}} elements",
            lower,
            upper,
            length,
        )
        at = self._new()
        self._line(f"for {at} in range({lower} + 1, {upper}):")
        with self._indented():
            self._trap(
                f"{_name(fiber.array)}[{at}] <= {_name(fiber.array)}[{at} - 1]",
                fiber.place,
                f"{fiber.array}[{{}}] = {{}}: must be more than {{}}, the coordinate before it",
                at,
                f"{_name(fiber.array)}[{at}]",
                f"{_name(fiber.array)}[{at} - 1]",
            )

    def _element(
        self, array: str, indices: Iterable[Expression], place: Location, *, reads: bool = False
    ) -> str:
        with self._values(False):
            values = [self._expression(index) for index in indices]
        for axis, value in enumerate(values):
            length = _length(array, axis)
            self._trap(
                f"{value} < 0 or {value} >= {length}",
                place,
                f"{array}: index {{}} in dimension {axis}: must be at least 0 and less than {{}}",
                value,
                length,
            )
        if reads:
            self._note_line(array, values)
        return f"{_name(array)}[{', '.join(values)}]"

    def _load(self, element: str, type: ScalarType) -> str:
        return self._value(f"np.int64({element})" if type.is_integer else element)

    @contextmanager
    def _values(self, are: bool) -> Any:
        """Whether what is computed there are values, not indices or bounds."""
        before, self._is_value = self._is_value, are
        yield
        self._is_value = before

    def _data(self, expression: Expression) -> str:
        """The code of an expression that is a value."""
        with self._values(True):
            return self._expression(expression)

    def _expression(self, expression: Expression) -> str:
        match expression:
            case Constant(value, type):
                if type != FLOAT32:
                    return repr(value)
                self._constants.append(self._text(value))
                return f"c{len(self._constants) - 1}"
            case Variable(name):
                return _name(name)
            case Load(array, indices, type, place):
                return self._load(self._element(array, indices, place, reads=True), type)
            case Unary(operator, operand):
                return self._unary(operator, self._expression(operand), operand.type)
            case Binary(operator, left, right) if operator in LOGICAL:
                name = self._value(self._expression(left))
                self._line(f"if {'' if operator == 'and' else 'not '}{name}:")
                with self._indented():
                    self._line(f"{name} = {self._expression(right)}")
                return name
            case Binary(operator, left, right, place):
                first, second = self._expression(left), self._expression(right)
                return self._binary(operator, first, second, left.type, right, place)
            case Select(condition, chosen, other):
                name = self._new()
                self._line(f"if {self._expression(condition)}:")
                with self._indented():
                    self._line(f"{name} = {self._expression(chosen)}")
                self._line("else:")
                with self._indented():
                    self._line(f"{name} = {self._expression(other)}")
                return name
            case Cast(type, operand, place):
                return self._cast(self._expression(operand), operand.type, type, place)
        raise TypeError(expression)

    def _unary(self, operator: str, operand: str, type: ScalarType) -> str:
        self._note_operation(type)
        if type == FLOAT32 and operator in ("-", "abs"):
            return self._signed(operator, operand)
        text = {
            "-": f"-{operand}",
            "not": f"not {operand}",
            "abs": f"abs({operand})",
            "sqrt": f"np.sqrt({operand})",
        }
        return self._rounded(text[operator], type)

    def _signed(self, operator: str, operand: str) -> str:
        """Negation and magnitude of float32, which are no arithmetic: they change the sign bit
        alone."""
        sign = "ONE"
        if operator == "-":
            sign = self._value(f"ONE if np.signbit({operand}) else MINUS_ONE")
        return self._value(f"np.copysign({operand}, {sign})")

    def _binary(
        self,
        operator: str,
        left: str,
        right: str,
        type: ScalarType,
        second: Expression,
        place: Location,
    ) -> str:
        """Code of an operator on operands whose values have names. ``second``: the right one."""
        self._note_operation(type, is_product=operator == "*")
        if operator in ("min", "max"):
            return self._extreme(operator, left, right, type)
        if operator in COMPARISONS:
            return self._value(f"{left} {operator} {right}")
        if operator in ("//", "%"):
            self._trap(f"{right} == 0", place, f"{{}} {_braced(operator)} 0: must not be 0", left)
        if operator in SHIFTS:
            self._trap(
                f"{right} < 0 or {right} >= {type.bits}",
                second.place,
                f"shift by {{}}: must be at least 0 and less than {type.bits}",
                right,
            )
        return self._rounded(f"{left} {operator} {right}", type)

    def _extreme(self, operator: str, left: str, right: str, type: ScalarType) -> str:
        sign = "<" if operator == "min" else ">"
        if type.is_integer:
            return self._value(f"{left} if {left} {sign} {right} else {right}")
        name = self._new()
        # Zeroes are equal: the one with the sign is the less.
        signed, plain = (left, right) if operator == "min" else (right, left)
        for head, value in (
            (f"if {left} {sign} {right}:", left),
            (f"elif {right} {sign} {left}:", right),
            (f"elif {left} == {right}:", f"{signed} if np.signbit({left}) else {plain}"),
            ("else:", "NAN"),
        ):
            self._line(head)
            with self._indented():
                self._line(f"{name} = {value}")
        return name

    def _cast(self, operand: str, given: ScalarType, wanted: ScalarType, place: Location) -> str:
        if given == FLOAT32 and wanted == FLOAT32:
            return operand
        if wanted == FLOAT32:
            return self._value(f"np.{self._real.__name__}({operand})")
        if given != FLOAT32:
            return self._rounded(operand, wanted)
        wide = self._value(f"np.float64({operand})")
        self._trap(
            f"not ({wanted.least - 1}.0 < {wide} < {wanted.most + 1}.0)",
            place,
            f"float32 to {wanted}: must be a number from {wanted.least} to {wanted.most}",
        )
        return self._value(f"np.int64({wide})")

    def _rounded(self, text: str, type: ScalarType) -> str:
        """What a text computes, within its type."""
        if type == FLOAT32:
            name = self._value(text)
            return self._value(f"{name} if {name} == {name} else NAN")
        if type.is_integer:
            mask = (1 << type.bits) - 1
            if type.kind == "u":
                return self._value(f"({text}) & {mask}")
            half = 1 << type.bits - 1
            return self._value(f"(({text}) + {half} & {mask}) - {half}")
        return self._value(text)


def _name(name: str) -> str:
    """Apart from the function's own names."""
    return f"v_{name}"


def _length(array: str, axis: int) -> str:
    return f"d{axis}_{array}"


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")

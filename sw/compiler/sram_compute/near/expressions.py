"""Expressions as operations on strips."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.sram_compute.isa import When
from gnarl.sw.compiler.sram_compute.near.recurrences import Recurrence
from gnarl.sw.compiler.sram_compute.near.streams import Loop, Stream, Streams
from gnarl.sw.compiler.sram_compute.near.strips import (
    Immediate,
    Operand,
    Register,
    StripProgram,
    X,
    immediate,
)
from gnarl.sw.compiler.sram_compute.tdfg.statements import Reduction, reject
from gnarl.sw.workloads.loops.ir.nest import Binary, Cast, Constant, Load, Select, Unary, Variable
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.place import Location

_FLOATS = {
    "+": Opcode.FADD,
    "-": Opcode.FSUB,
    "*": Opcode.FMUL,
    "/": Opcode.FDIV,
    "min": Opcode.FMIN,
    "max": Opcode.FMAX,
    "<": Opcode.FLESS,
    "<=": Opcode.FLESS_EQUAL,
    "==": Opcode.FEQUAL,
}

_INTEGERS = {
    "+": Opcode.ADD,
    "-": Opcode.SUB,
    "*": Opcode.MUL,
    "min": Opcode.MIN,
    "max": Opcode.MAX,
    "<": Opcode.LESS,
    "<<": Opcode.SHIFT_LEFT,
    ">>": Opcode.SHIFT_RIGHT,
    "and": Opcode.AND,
    "or": Opcode.OR,
    "&": Opcode.AND,
    "|": Opcode.OR,
    "^": Opcode.XOR,
}

_SWAPPED = {">": "<", ">=": "<="}

_ONE = Immediate(1)
_ALL_ONES = Immediate((1 << 32) - 1)
_SIGN = Immediate(1 << 31)
_MAGNITUDE = Immediate((1 << 31) - 1)
"""Bits of a float32."""


def require_word(type: ScalarType, place: Location) -> None:
    """Raises ``NotTensor``."""
    if type not in (FLOAT32, INT32, BOOL):
        reject(place, f"{type}: not supported by stream engines: must be float32 or int32")


def operation_of(operator: str, type: ScalarType) -> Opcode | None:
    return (_FLOATS if type == FLOAT32 else _INTEGERS).get(operator)


class Expressions:
    """Makes operations of values.

    x, y
        the loop along which strips lie; ``first``: x of its first iteration; the inner loop.
    numbers
        names that are numbers: sizes, scalars, variables of loops in order.
    reduced
        what gives the value of a reduction or recurrence.
    held
        registers of elements that have been read.
    locals
        registers of locals, by the names that they have in values.
    """

    def __init__(
        self,
        program: StripProgram,
        streams: Streams,
        x: Loop,
        y: Loop,
        first: int,
        numbers: Mapping[str, float],
        reduced: Callable[[Reduction | Recurrence], Operand],
        held: Mapping[Stream, Register] | None = None,
    ) -> None:
        self._held_elements = {} if held is None else held
        self.locals: dict[str, Register] = {}
        self._y = y
        self._program = program
        self._streams = streams
        self._x = x
        self._first = first
        self._numbers = numbers
        self._reduced = reduced

    def value(self, node: Any) -> Operand:
        """Raises ``NotTensor``."""
        match node:
            case Constant(value, type):
                return immediate(value, np.dtype(np.float32 if type == FLOAT32 else np.int32))
            case Variable():
                return self._variable(node)
            case Load():
                require_word(node.type, node.place)
                return self.load(node)
            case Reduction() | Recurrence():
                return self._reduced(node)
            case Unary(operator, operand, place):
                return self._unary(operator, operand, place)
            case Binary():
                return self._binary(node)
            case Select(condition, chosen, other):
                parts = [self._held(each) for each in (condition, chosen, other)]
                return self._program.compute(Opcode.SELECT, parts[1], parts[2], parts[0])
            case Cast(type, operand, place):
                return self._cast(type, operand, place)
        raise TypeError(node)

    def load(self, node: Load) -> Operand:
        stream, index = self._streams.find(node.array, node.indices, node.place)
        if stream in self._held_elements:
            return self._held_elements[stream]
        if index is None:
            return self._program.element(stream)
        return self._program.element(stream, self._program.register(self.value(index)))

    def _held(self, node: Any) -> Operand:
        """What may wait while other values come."""
        value = self.value(node)
        return value if isinstance(value, Immediate) else self._program.register(value)

    def _variable(self, node: Variable) -> Operand:
        if node.name in self._numbers:
            value = self._numbers[node.name]
            return immediate(value, np.dtype(np.float32 if node.type == FLOAT32 else np.int32))
        if node.name in self.locals:
            return self.locals[node.name]
        if node.name == self._y.variable:
            return self._counter()
        if node.name != self._x.variable:
            reject(node.place, f"{node.name} is a value: must be the variable of an inner loop")
        first = self._x.first - self._first * self._x.step
        index: Operand = X()
        if self._x.step != 1:
            index = self._program.compute(Opcode.MUL, index, _integer(self._x.step))
        return self._program.compute(Opcode.ADD, index, _integer(first)) if first else index

    def _counter(self) -> Register:
        """The variable of y, which is counted from here on."""
        program, when = self._program, self._program.when
        program.when = 1 << When.FIRST_Y
        counter = program.keep_apart(_integer(self._y.first - self._y.step))
        program.when = 0
        program.set(counter, Opcode.ADD, counter, _integer(self._y.step))
        program.when = when
        self.locals[self._y.variable] = counter
        return counter

    def _unary(self, operator: str, operand: Any, place: Location) -> Operand:
        program, value = self._program, self.value(operand)
        is_float = operand.type == FLOAT32
        if operator == "-" and is_float:
            return program.compute(Opcode.XOR, value, _SIGN)
        if operator == "-":
            inverted = program.compute(Opcode.XOR, value, _ALL_ONES)
            return program.compute(Opcode.ADD, inverted, _ONE)
        if operator == "not":
            return program.compute(Opcode.XOR, value, _ONE)
        if operator == "abs" and is_float:
            return program.compute(Opcode.AND, value, _MAGNITUDE)
        if operator == "abs":
            kept = program.keep(value)
            inverted = program.compute(Opcode.XOR, kept, _ALL_ONES)
            negative = program.compute(Opcode.ADD, inverted, _ONE)
            program.release(kept)
            return program.compute(Opcode.MAX, Register(kept.number), negative)
        reject(place, f"{operator} of {operand.type}: not supported by stream engines")

    def _binary(self, node: Binary) -> Operand:
        operator, left, right = node.operator.value, node.left, node.right
        type, program = left.type, self._program
        require_word(type, node.place)
        if operator in _SWAPPED:
            operator, left, right = _SWAPPED[operator], right, left
        if operator == "!=" or operator == "<=" and type != FLOAT32:
            negated = ("==", left, right) if operator == "!=" else ("<", right, left)
            value = self._plain(*negated, type, node.place)
            return program.compute(Opcode.XOR, value, _ONE)
        return self._plain(operator, left, right, type, node.place)

    def _plain(
        self, operator: str, left: Any, right: Any, type: ScalarType, place: Location
    ) -> Operand:
        program = self._program
        if operator == "==" and type != FLOAT32:
            difference = program.keep(self._plain_of(Opcode.XOR, left, right))
            below = program.compute(Opcode.LESS, difference, _ONE)
            negative = program.compute(Opcode.LESS, difference, Immediate(0))
            program.release(difference)
            return program.compute(Opcode.AND, below, program.compute(Opcode.XOR, negative, _ONE))
        operation = operation_of(operator, type)
        if operation is None:
            reject(place, f"{operator} of {type}: not supported by stream engines")
        return self._plain_of(operation, left, right)

    def _plain_of(self, operation: Opcode, left: Any, right: Any) -> Operand:
        """One operand waits in a register; the other may be an element as it comes."""
        if isinstance(left, Load) and not self._waits(left):
            second = self._held(right)
            return self._program.compute(operation, self.value(left), second)
        first = self._held(left)
        return self._program.compute(operation, first, self.value(right))

    def _waits(self, node: Load) -> bool:
        """Whether its element is in a register."""
        stream, _ = self._streams.find(node.array, node.indices, node.place)
        return stream in self._held_elements

    def _cast(self, type: ScalarType, operand: Any, place: Location) -> Operand:
        source = operand.type
        require_word(type, place)
        if type == FLOAT32 and source in (INT32, BOOL):
            return self._program.compute(Opcode.TO_FLOAT, self.value(operand), Immediate(0))
        if type == INT32 and source.bits < 32 or type == source:
            return self.value(operand)
        reject(place, f"{source} to {type}: not supported by stream engines")


def _integer(value: int) -> Immediate:
    return immediate(value, np.dtype(np.int32))

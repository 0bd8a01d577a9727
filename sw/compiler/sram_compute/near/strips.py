"""Operations on strips: registers, constants and streams of a program of the stream engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.sram_compute import isa
from gnarl.hw.sram_compute.isa import REGISTERS, SLOTS, STREAMS, Second, When
from gnarl.hw.sram_compute.program import Command, command
from gnarl.sw.compiler.sram_compute.near.streams import Stream
from gnarl.sw.compiler.sram_compute.tdfg.statements import reject
from gnarl.sw.workloads.place import Location

_COMMUTES = frozenset(
    {
        Opcode.ADD,
        Opcode.MUL,
        Opcode.AND,
        Opcode.OR,
        Opcode.XOR,
        Opcode.MIN,
        Opcode.MAX,
        Opcode.FADD,
        Opcode.FMUL,
        Opcode.FMIN,
        Opcode.FMAX,
        Opcode.FEQUAL,
    }
)


@dataclass(frozen=True)
class Register:
    """A register of a stream engine. ``is_kept``: it has its value after this."""

    number: int
    is_kept: bool = False


@dataclass(frozen=True)
class Immediate:
    """A number in an operation. ``word``: its bits."""

    word: int


@dataclass(frozen=True)
class X:
    """The number of x."""


@dataclass(frozen=True)
class Element:
    """An element of a stream. ``index``: the register with its index."""

    stream: int
    index: Register | None = None


Operand = Register | Immediate | X | Element


def immediate(value: Any, dtype: np.dtype) -> Immediate:
    return Immediate(int(np.array(value).astype(dtype).reshape(1).view(np.uint32)[0]))


class StripProgram:
    """Makes operations one behind the other. ``place``: of the statement."""

    def __init__(self, place: Location) -> None:
        self._place = place
        self._free = list(range(REGISTERS))
        self._used: set[int] = set()
        self._constants: dict[int, Register] = {}
        self._first: list[dict[str, Any]] = []
        self._rest: list[dict[str, Any]] = []
        self.streams: list[Stream] = []
        self.when = 0

    def commands(self, first: int) -> list[Command]:
        """``STREAM`` and ``OPERATION``; ``first``: x of the first iteration."""
        operations = self._operations
        if len(operations) > SLOTS:
            reject(self._place, f"needs {len(operations)} operations: must be at most {SLOTS}")
        return [
            *(stream.command(number, first) for number, stream in enumerate(self.streams)),
            *(
                command(isa.Opcode.OPERATION, slot=slot, **each)
                for slot, each in enumerate(operations)
            ),
        ]

    @property
    def last(self) -> int:
        return len(self._operations) - 1

    @property
    def _operations(self) -> list[dict[str, Any]]:
        return self._first + self._rest

    def element(self, stream: Stream, index: Register | None = None) -> Element:
        if stream not in self.streams:
            self.streams.append(stream)
        if len(self.streams) > STREAMS:
            reject(self._place, f"needs more than {STREAMS} streams: must be at most that")
        return Element(self.streams.index(stream), index)

    def compute(
        self, operation: Opcode, a: Operand, b: Operand, c: Operand | None = None
    ) -> Register:
        """A new register, with the result."""
        if operation in _COMMUTES and _is_second(a) and not _is_second(b):
            a, b = b, a
        if operation in _COMMUTES and isinstance(b, Element) and not isinstance(a, Element):
            a, b = b, a
        third = None if c is None else self.register(c)
        second = b if _is_second(b) else self.register(b)
        takes_elements = operation != Opcode.FDIV
        first = a if isinstance(a, Element) and takes_elements else self.register(a)
        self._release(first, second, third)
        result = self._new()
        self._emit(operation, result, first, second, third)
        return result

    def set(self, register: Register, operation: Opcode, a: Operand, b: Operand) -> None:
        """``register`` becomes the result."""
        second = b if _is_second(b) else self.register(b)
        first = a if isinstance(a, Element) else self.register(a)
        self._release(first, second)
        self._emit(operation, register, first, second)

    def begin_with(self, value: Immediate) -> Register:
        """A register with the value in the first iteration, in all elements."""
        found = self._unused()
        self._fill(found, value.word)
        return found

    def with_rotated(self, operation: Opcode, register: Register, distance: int) -> Register:
        """A new register: of each element and the one ``distance`` further on."""
        rotated = self._new()
        self._emit(operation, rotated, register, register)
        self._rest[-1]["offset"] = distance
        self._release(register)
        return rotated

    def reserve(self, register: Register) -> None:
        """Takes a register that already has a value out of the free ones."""
        self._free.remove(register.number)

    def store(self, element: Element, value: Operand) -> None:
        second = value if _is_second(value) else self.register(value)
        self._release(second, element.index)
        fields = _second_fields(second) | {"stream": element.stream}
        if element.index is not None:
            fields["a"] = element.index.number
        self._rest.append(fields | {"operation": Opcode.STORE.value, "when": self.when})

    def keep(self, operand: Operand) -> Register:
        """A register with the value, which stays until ``release``."""
        register = self.register(operand)
        if register.is_kept:
            register = self.compute(Opcode.OR, register, Immediate(0))
        return Register(register.number, is_kept=True)

    def keep_apart(self, operand: Operand) -> Register:
        """A register with the value, which nothing else of the program writes."""
        kept = self._unused()
        if operand == Immediate(0):
            self.set(kept, Opcode.AND, kept, operand)
        else:
            self.set(kept, Opcode.OR, operand, Immediate(0))
        return kept

    def release(self, register: Register) -> None:
        self._free.insert(0, register.number)

    def register(self, operand: Operand) -> Register:
        match operand:
            case Register():
                return operand
            case Immediate(word):
                return self._constant(word)
            case X():
                return self.compute(Opcode.OR, Immediate(0), operand)
            case Element():
                return self.compute(Opcode.OR, operand, Immediate(0))

    def _constant(self, word: int) -> Register:
        if word not in self._constants:
            constant = self._unused()
            self._fill(constant, word)
            self._constants[word] = constant
        return self._constants[word]

    def _fill(self, register: Register, word: int) -> None:
        usual = {
            "d": register.number,
            "a": register.number,
            "b_source": Second.IMMEDIATE.value,
            "is_whole": 1,
            "when": 1 << When.FIRST_X | 1 << When.FIRST_Y,
        }
        self._first.append({**usual, "operation": Opcode.AND.value})
        if word:
            self._first.append({**usual, "operation": Opcode.OR.value, "immediate": word})

    def _emit(
        self,
        operation: Opcode,
        d: Register,
        a: Register | Element,
        b: Operand,
        c: Register | None = None,
    ) -> None:
        fields = {"operation": operation.value, "d": d.number, "when": self.when}
        fields |= _second_fields(b)
        if isinstance(a, Element):
            fields |= {"reads": 1, "stream": a.stream}
            if a.index is not None:
                fields["a"] = a.index.number
        else:
            fields["a"] = a.number
        if c is not None:
            fields["c"] = c.number
        self._rest.append(fields)

    def _new(self) -> Register:
        if not self._free:
            reject(self._place, f"needs more than {REGISTERS} registers: must be at most that")
        self._used.add(self._free[0])
        return Register(self._free.pop(0))

    def _unused(self) -> Register:
        """One that nothing writes in another iteration."""
        unused = [number for number in self._free if number not in self._used]
        if not unused:
            reject(self._place, f"needs more than {REGISTERS} registers: must be at most that")
        self._free.remove(unused[-1])
        return Register(unused[-1], is_kept=True)

    def _release(self, *operands: Operand | None) -> None:
        for each in operands:
            register = each.index if isinstance(each, Element) else each
            if isinstance(register, Register) and not register.is_kept:
                if register.number not in self._free:
                    self._free.insert(0, register.number)


def _is_second(operand: Operand) -> bool:
    """Whether it may be operand b alone."""
    return isinstance(operand, Immediate | X)


def _second_fields(operand: Operand) -> dict[str, Any]:
    match operand:
        case Immediate(word):
            return {"b_source": Second.IMMEDIATE.value, "immediate": word}
        case X():
            return {"b_source": Second.X.value}
        case Register(number):
            return {"b": number}
    raise TypeError(operand)

"""Programs of the execute unit, one instruction after the other, on NumPy's numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import (
    LOOP_DEPTH,
    Fault,
    Instruction,
    Opcode,
    Operand,
    Source,
)
from tests.support.arithmetic.floats import maximum, minimum, words

_WORD = 0xFFFF_FFFF
_CONTROL = range(Opcode.HALT, Opcode.LOOP + 1)
_BRANCHES = (Opcode.BRANCH_EQ, Opcode.BRANCH_NE, Opcode.BRANCH_LT, Opcode.BRANCH_GE)
_TAKEN = (Source.DEQUEUE, Source.DEQUEUE_SCALAR)
_ACROSS = (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN, Opcode.EXTRACT)


class Starved(Exception):
    """A word or a token is wanted that does not come."""


@dataclass
class Outcome:
    """How a run ended: at which instruction, why, and after how many, jumps included."""

    pc: int
    fault: Fault = Fault.NONE
    issued: int = 0
    issued_vector: int = 0
    words: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)


class _Fault(Exception):
    pass


def run(
    program: list[Instruction | tuple[int, ...]],
    memory: npt.NDArray[np.uint32],
    *,
    lanes: int,
    program_words: int,
    words: Iterable[int] = (),
    tokens: Iterable[int] = (),
    limit: int = 10000,
) -> Outcome:
    """Runs on ``memory`` (uint32 [words]); an instruction may be words that encode none.

    What is left of words and tokens is in the outcome. Raises ``Starved``.
    """
    state = State(program, memory, lanes, program_words, list(words), list(tokens))
    if not state.run(limit):
        raise AssertionError(f"{limit} instructions, and no end")
    return state.outcome


class State:
    """What a run has come to. ``memory``: words that can be read and written at places, uint32."""

    def __init__(
        self,
        program: list[Any],
        memory: Any,
        lanes: int,
        program_words: int,
        queue: list[int],
        tokens: list[int],
    ) -> None:
        self.program, self.memory, self.lanes = program, memory, lanes
        self.program_words = program_words
        self.outcome = Outcome(0, words=queue, tokens=tokens)
        self.scalars = np.zeros(32, np.uint32)
        self.vectors = np.zeros((32, lanes), np.uint32)
        self.masks = np.zeros((4, lanes), np.bool_)
        self.masks[0] = True
        self.loops: list[list[int]] = []  # first and last instruction, and how often still

    def run(self, limit: int) -> bool:
        """Whether it ends within so many instructions. Raises ``Starved``."""
        for _ in range(limit):
            try:
                if self.step():
                    return True
            except _Fault as error:
                self.outcome.fault = error.args[0]
                return True
        return False

    def step(self) -> bool:
        """Runs an instruction; whether it was ``HALT``."""
        out = self.outcome
        if out.pc == self.program_words:
            raise _Fault(Fault.CONTROL)
        given = self.program[out.pc]
        i = self._checked(given)
        self._check_control(i)
        target = self._do(i)
        out.issued += 1
        out.issued_vector += self._is_vector(i)
        if i.opcode == Opcode.HALT:
            return True
        if target is not None:
            while self.loops and not self.loops[-1][0] <= target <= self.loops[-1][1]:
                self.loops.pop()
            out.pc = target
        elif self.loops and out.pc == self.loops[-1][1] and i.opcode != Opcode.LOOP:
            self.loops[-1][2] -= 1
            if self.loops[-1][2]:
                out.pc = self.loops[-1][0]
            else:
                self.loops.pop()
                out.pc += 1
        else:
            out.pc += 1
        return False

    def _checked(self, given: Any) -> Instruction:
        try:
            i = given if isinstance(given, Instruction) else Instruction.decoded(given)
        except ValueError:
            raise _Fault(Fault.ENCODING) from None
        if sum(operand.source in _TAKEN for operand in (i.a, i.b, i.c)) > 1:
            raise _Fault(Fault.ENCODING)
        return i

    def _check_control(self, i: Instruction) -> None:
        pc, target = self.outcome.pc, i.immediate & _WORD
        has_target = i.opcode in (Opcode.JUMP, Opcode.LOOP, *_BRANCHES)
        is_last = bool(self.loops) and pc == self.loops[-1][1]
        if (has_target and target >= self.program_words) or (
            is_last and i.opcode in (Opcode.JUMP, Opcode.JUMP_TOKEN, *_BRANCHES)
        ):
            raise _Fault(Fault.CONTROL)
        if i.opcode == Opcode.LOOP and (
            len(self.loops) == LOOP_DEPTH
            or target < pc + 2
            or (self.loops and target > self.loops[-1][1])
        ):
            raise _Fault(Fault.CONTROL)

    def _is_vector(self, i: Instruction) -> bool:
        if i.opcode in _CONTROL or i.opcode in (Opcode.FIRST_LANES, Opcode.LANES):
            return False
        return i.vector or i.opcode in _ACROSS

    def _operand(self, operand: Operand, i: Instruction, vector: bool) -> npt.NDArray[np.uint32]:
        """Uint32 of each lane."""
        queue = self.outcome.words
        if operand.source == Source.REGISTER and vector:
            return self.vectors[operand.index].copy()
        if operand.source == Source.DEQUEUE and vector:
            if len(queue) < self.lanes:
                raise Starved
            taken, queue[: self.lanes] = queue[: self.lanes], []
            return np.array(taken, np.uint32)
        value = 0
        if operand.source in (Source.REGISTER, Source.SCALAR):
            value = int(self.scalars[operand.index])
        elif operand.source in _TAKEN:
            if not queue:
                raise Starved
            value = queue.pop(0)
        elif operand.source == Source.IMMEDIATE:
            value = i.immediate & _WORD
        return np.full(self.lanes, value, np.uint32)

    def _do(self, i: Instruction) -> int | None:
        """Where it jumps, if it does."""
        o, vector = i.opcode, self._is_vector(i)
        is_memory = o in (Opcode.LOAD, Opcode.STORE, Opcode.PREFETCH)
        a = self._operand(i.a, i, vector and not is_memory)
        if is_memory:
            self._use_memory(i, int(a[0]))
            return None
        b, c = self._operand(i.b, i, vector), self._operand(i.c, i, vector)
        mask = self.masks[i.mask]
        first, second = int(a[0].astype(np.int32)), int(b[0].astype(np.int32))
        target = i.immediate & _WORD
        if o == Opcode.JUMP:
            return target
        if o == Opcode.JUMP_TOKEN:
            if not self.outcome.tokens:
                raise Starved
            return self.outcome.tokens.pop(0)
        if o in _BRANCHES:
            does = {
                Opcode.BRANCH_EQ: first == second,
                Opcode.BRANCH_NE: first != second,
                Opcode.BRANCH_LT: first < second,
                Opcode.BRANCH_GE: first >= second,
            }[o]
            return target if does else None
        if o == Opcode.LOOP:
            if first < 1:
                return target
            self.loops.append([self.outcome.pc + 1, target - 1, first])
        elif o == Opcode.FIRST_LANES:
            self._set_mask(i.dst, np.arange(self.lanes) < first)
        elif o == Opcode.LANES:
            self._set_mask(i.dst, (first >> np.arange(self.lanes) & 1).astype(np.bool_))
        elif o in (Opcode.FLESS, Opcode.FLESS_EQUAL, Opcode.FEQUAL):
            left, right = a.view(np.float32), b.view(np.float32)
            with np.errstate(invalid="ignore"):
                found = {Opcode.FLESS: left < right, Opcode.FLESS_EQUAL: left <= right}.get(
                    o, left == right
                )
            if vector:
                self._set_mask(i.dst, found)
            else:
                self.scalars[i.dst] = found[0]
        elif o in _ACROSS:
            self.scalars[i.dst] = self._across(i, a, mask)
        elif o != Opcode.HALT:
            chosen = mask if vector else c != 0
            result = np.where(chosen, a, b) if o == Opcode.SELECT else compute(o, a, b, c)
            if vector:
                self.vectors[i.dst] = result
            else:
                self.scalars[i.dst] = result[0]
        return None

    def _set_mask(self, dst: int, lanes: npt.NDArray[np.bool_]) -> None:
        if dst % 4:
            self.masks[dst % 4] = lanes

    def _across(
        self, i: Instruction, a: npt.NDArray[np.uint32], mask: npt.NDArray[np.bool_]
    ) -> int:
        if i.opcode == Opcode.EXTRACT:
            return int(a[i.immediate % self.lanes])
        infinity = 0x7F80_0000
        step, neutral = {
            Opcode.REDUCE_ADD: (Opcode.FADD, 0),
            Opcode.REDUCE_MAX: (Opcode.FMAX, infinity | 1 << 31),
            Opcode.REDUCE_MIN: (Opcode.FMIN, infinity),
        }[i.opcode]
        left = np.where(mask, a, np.uint32(neutral))
        while len(left) > 1:
            half = len(left) // 2
            left = compute(step, left[:half], left[half:], left[:half])
        return int(left[0])

    def _use_memory(self, i: Instruction, base: int) -> None:
        vector = i.vector
        self._operand(i.b, i, vector)
        c = self._operand(i.c, i, vector)
        address = base + i.immediate & _WORD
        mask = self.masks[i.mask] if vector else np.arange(self.lanes) == 0
        lanes = np.flatnonzero(mask)
        if i.opcode != Opcode.PREFETCH and len(lanes) and address + lanes[-1] >= len(self.memory):
            raise _Fault(Fault.ADDRESS)
        if i.a.source in (Source.REGISTER, Source.SCALAR):
            self.scalars[i.a.index] = base + i.increment & _WORD
        if i.opcode == Opcode.STORE:
            self.memory[address + lanes] = c[lanes]
        elif i.opcode == Opcode.LOAD:
            loaded = np.zeros(self.lanes, np.uint32)
            loaded[lanes] = self.memory[address + lanes]
            if vector:
                self.vectors[i.dst] = loaded
            else:
                self.scalars[i.dst] = loaded[0]


def compute(
    o: Opcode,
    a: npt.NDArray[np.uint32],
    b: npt.NDArray[np.uint32],
    c: npt.NDArray[np.uint32],
) -> npt.NDArray[np.uint32]:
    """Arithmetic, lane by lane."""
    ia, ib = a.view(np.int32), b.view(np.int32)
    x, y, z = a.view(np.float32), b.view(np.float32), c.view(np.float32)

    def bits(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
        return words("float32", values).astype(np.uint32)

    with np.errstate(all="ignore"):
        if o in (Opcode.ADD, Opcode.SUB, Opcode.MUL):
            return {Opcode.ADD: a + b, Opcode.SUB: a - b, Opcode.MUL: a * b}[o]
        if o in (Opcode.AND, Opcode.OR, Opcode.XOR):
            return {Opcode.AND: a & b, Opcode.OR: a | b, Opcode.XOR: a ^ b}[o]
        if o == Opcode.SHIFT_LEFT:
            return a << (b & 31)
        if o == Opcode.SHIFT_RIGHT:
            return (ia >> (b & 31).astype(np.int32)).view(np.uint32)
        if o in (Opcode.MIN, Opcode.MAX):
            return (np.minimum if o == Opcode.MIN else np.maximum)(ia, ib).view(np.uint32)
        if o == Opcode.LESS:
            return (ia < ib).astype(np.uint32)
        if o == Opcode.TO_FLOAT:
            return ia.astype(np.float32).view(np.uint32)
        if o == Opcode.FABS:
            return a & np.uint32(0x7FFF_FFFF)
        if o in (Opcode.FADD, Opcode.FSUB, Opcode.FMUL, Opcode.FDIV, Opcode.FSQRT):
            return bits(
                {
                    Opcode.FADD: lambda: x + y,
                    Opcode.FSUB: lambda: x - y,
                    Opcode.FMUL: lambda: x * y,
                    Opcode.FDIV: lambda: x / y,
                    Opcode.FSQRT: lambda: np.sqrt(x),
                }[o]()
            )
        if o == Opcode.FMUL_ADD:
            return bits(x * y + z)
        return bits((minimum if o == Opcode.FMIN else maximum)(x, y))

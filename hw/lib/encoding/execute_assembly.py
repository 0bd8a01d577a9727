"""Assembler of the execute unit's instructions. ``execute_listing`` gives their text again.

    line        = [name ":"] [statement] [(";" | "#") comment]
    statement   = ".const" name sum | ".word" sum "," sum "," sum | instruction
    instruction = mnemonic [operand {"," operand}]
    operand     = register | "deq" | "deq.s" | "zero" | sum | "[" address "]" | register "+=" sum
    register    = "s0" … "s31" | "s0.s" … "s31.s" | "v0" … "v31" | "m0" … "m3"
    address     = base [("+" | "-") sum] | sum        where base is s…, "deq", "deq.s" or "zero"
    sum         = ["-"] value {("+" | "-") value}
    value       = number | name

A mnemonic is an opcode in small letters, with ``.v`` where the instruction works on all lanes:

    halt                            fless s1, s2, s3              load s1, [s2 + 16], s2 += 1
    jump name                       fless.v m1, v2, v3            load.v v1, [s2 + 16], m1, s2 += 8
    jump_token                      first_lanes m1, s2            store s1, [s2]
    branch_lt s1, s2, name          select s1, s2, s3, s4         store.v v1, [out], m1
    loop s1, name                   select.v v1, v2, v3, m1       prefetch [s2 + 64], s2 += 16
    add s1, s2, -1                  reduce_add.v s1, v2, m1       fabs.v v1, v2
    fadd.v v1, v2, deq              extract.v s1, v2, 3           fmul_add.v v1, v2, s3, v1

What is written comes first; then a, b, c; the mask register, m0 where it is left out; and what is
added to an address's register. In vector instructions s… and ``deq.s`` stand for a word in every
lane, ``deq`` for a vector of the queue. ``.s`` says in scalar ones, too, what vector ones would:
``s4.s`` is ``Source.SCALAR``, ``s4`` is ``Source.REGISTER``. ``zero`` is ``Source.ZERO``, a sum the
immediate, of which an instruction has one.

A name is a label, which is the address of the next instruction, or a constant of ``.const``.
Numbers are decimal, hexadecimal (0x…), or floating point (with a point or an exponent, ``inf``,
``nan``), which immediate operands round to float32. ``.word`` gives the words of an instruction,
the lowest first, for those of which there is no text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import isinf
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt
from gnarl.hw.lib.encoding.execute_forms import (
    DSTS,
    FORMS,
    MNEMONICS,
    OPERANDS,
    OPTIONAL,
    SOURCES,
    FormPart,
)
from gnarl.hw.lib.encoding.execute_isa import (
    INSTRUCTION,
    INSTRUCTION_WORDS,
    MASK_REGISTERS,
    SCALAR_REGISTERS,
    VECTOR_REGISTERS,
    Instruction,
    Opcode,
    Operand,
    Source,
)
from gnarl.hw.lib.encoding.execute_syntax import REGISTER, Line, Number, float_word
from gnarl.hw.lib.errors import short
from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.text_lines import text_lines

_WORD = 0xFFFF_FFFF
_SIGN = 1 << 31
_INFINITY = FLOAT_FORMATS["float32"].infinity
_MOST_INCREMENT = (1 << INSTRUCTION["increment"].width - 1) - 1
_REGISTERS = {"s": SCALAR_REGISTERS, "v": VECTOR_REGISTERS, "m": MASK_REGISTERS}
_KINDS = {"s": "a scalar register", "v": "a vector register", "m": "a mask register"}
_TAKEN = (Source.DEQUEUE, Source.DEQUEUE_SCALAR)


@dataclass(frozen=True)
class Assembly:
    """Instructions, whose immediates are unsigned, and the addresses of ``labels``."""

    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]

    def words(self) -> npt.NDArray[np.uint32]:
        """uint32 [instructions, 3], of each the lowest word first."""
        return encode(self.instructions)


def encode(instructions: Sequence[Instruction]) -> npt.NDArray[np.uint32]:
    """uint32 [instructions, 3], of each the lowest word first."""
    words = [instruction.words() for instruction in instructions]
    return np.array(words, np.uint32).reshape(-1, INSTRUCTION_WORDS)


def assemble(
    text: str, file: str = "assembly", constants: Mapping[str, Number] | None = None
) -> Assembly:
    """The instructions of ``text``, in which ``constants`` are known.

    Raises ``WorkloadError``: ``file:line:``, the token that is wrong, and what would be right.
    """
    names: dict[str, Number] = {
        name: float(value) if isinstance(value, (float, np.floating)) else index(value)
        for name, value in (constants or {}).items()
    }
    lines: dict[str, int] = {}
    labels: dict[str, int] = {}
    statements: list[Line] = []
    for number, content in enumerate(text_lines(text), 1):
        line = Line(content, file, number)
        if line.peek(1).text == ":":
            label = _define(line, names, lines)
            labels[label] = names[label] = len(statements)
            line.expect(":")
        if line.peek().text == ".const":
            line.next()
            name = _define(line, names, lines)
            names[name] = line.sum(names)
            _expect_end(line)
        elif line.peek().kind != "end":
            statements.append(line)
    return Assembly(tuple(_instruction(line, names) for line in statements), labels)


def _define(line: Line, names: Mapping[str, Number], lines: dict[str, int]) -> str:
    name = line.name()
    if name in names:
        place = f"in line {lines[name]}" if name in lines else "before the first line"
        line.fail(f"{short(name)}: defined already, {place}")
    lines[name] = line.number
    return name


def _expect_end(line: Line) -> None:
    if line.peek().kind != "end":
        line.fail_at(line.peek(), "the line's end")


def _instruction(line: Line, names: Mapping[str, Number]) -> Instruction:
    token = line.next()
    if token.text == ".word":
        return _encoded(line, names)
    if token.text not in MNEMONICS:
        near = get_close_matches(token.text, MNEMONICS)
        hint = f"; near it are {', '.join(near)}" if near else ""
        line.fail(f"{short(token.text)}: no such instruction{hint}")
    return _Reader(line, names, *MNEMONICS[token.text]).instruction()


def _encoded(line: Line, names: Mapping[str, Number]) -> Instruction:
    words = []
    for place in range(INSTRUCTION_WORDS):
        if place:
            line.expect(",")
        words.append(line.whole(names, "a word", 0, _WORD))
    _expect_end(line)
    try:
        instruction = Instruction.decoded(tuple(words))
    except ValueError as error:
        line.fail(f"not an instruction: {error}")
    if instruction.words() != tuple(words):
        line.fail("not an instruction: bits that mean nothing must be 0")
    return instruction


class _Reader:
    """An instruction from its operands."""

    def __init__(self, line: Line, names: Mapping[str, Number], opcode: Opcode, vector: bool):
        self._line = line
        self._names = names
        self._vector = vector
        self._form = FORMS[opcode, vector]
        self._read = Instruction(opcode, vector)
        self._immediate: int | None = None
        self._takes = False

    def instruction(self) -> Instruction:
        line = self._line
        for number, part in enumerate(self._form):
            if part in OPTIONAL:
                if not self._goes_on(part):
                    continue
                line.expect(",")
            elif number:
                line.expect(",")
            self._change(part)
        _expect_end(line)
        return replace(self._read, immediate=self._immediate or 0)

    def _goes_on(self, part: FormPart) -> bool:
        """Whether an operand that may be left out is there."""
        is_next = part == self._form[-1] or self._line.peek(1).text.startswith("m")
        return self._line.peek().text == "," and is_next

    def _change(self, part: FormPart) -> None:
        if part in DSTS:
            self._set(dst=self._register(DSTS[part]))
        elif part in OPERANDS:
            self._set(**{OPERANDS[part]: self._operand(self._vector)})
        elif part == FormPart.ADDRESS:
            self._set(a=self._address())
        elif part == FormPart.MASK:
            self._set(mask=self._register("m"))
        elif part == FormPart.INCREMENT:
            self._set(increment=self._increment())
        else:
            what = "a target" if part == FormPart.TARGET else "a lane"
            self._use_immediate(self._line.whole(self._names, what, 0, _WORD))

    def _set(self, **fields: Any) -> None:
        self._read = replace(self._read, **fields)

    def _register(self, letter: str) -> int:
        token = self._line.next()
        match = REGISTER.fullmatch(token.text)
        if match is None or match[1] != letter or match[3]:
            self._line.fail_at(token, _KINDS[letter])
        return self._number(letter, match[2])

    def _number(self, letter: str, digits: str) -> int:
        if len(digits) > 2 or int(digits) >= _REGISTERS[letter]:
            last = _REGISTERS[letter] - 1
            self._line.fail(f"{letter}{short(digits)}: registers are {letter}0 to {letter}{last}")
        return int(digits)

    def _operand(self, vector: bool) -> Operand:
        if (operand := self._source(vector)) is not None:
            return operand
        token = self._line.peek()
        if token.kind not in ("word", "number") and token.text != "-":
            self._line.fail_at(token, "an operand")
        value = self._line.sum(self._names)
        if FormPart.TARGET in self._form:
            self._line.fail(f"{value}: the target is the immediate; take a register")
        if isinstance(value, float):
            word = float_word(value)
            if word & ~_SIGN == _INFINITY and not isinf(value):
                self._line.fail(f"{value}: too large for float32")
            self._use_immediate(word)
        elif -_SIGN <= value <= _WORD:
            self._use_immediate(value)
        else:
            self._line.fail(f"{value}: an immediate must be from {-_SIGN} to {_WORD}")
        return Operand(Source.IMMEDIATE)

    def _source(self, vector: bool) -> Operand | None:
        """A register, something of the queue, or zero, if that is next."""
        token = self._line.peek()
        match = REGISTER.fullmatch(token.text)
        if match is not None:
            if match[1] == "m" or (match[1] == "v" and (match[3] or not vector)):
                self._line.fail_at(token, "an operand" if vector else "a scalar operand")
            is_own = (match[1] == "v") == vector and not match[3]
            self._line.next()
            source = Source.REGISTER if is_own else Source.SCALAR
            return Operand(source, self._number(match[1], match[2]))
        if token.text not in SOURCES:
            return None
        source = SOURCES[self._line.next().text]
        if source in _TAKEN:
            if self._takes:
                self._line.fail(f"{token.text}: an instruction takes one operand from the queue")
            self._takes = True
        return Operand(source)

    def _address(self) -> Operand:
        line = self._line
        line.expect("[")
        base = self._source(vector=False)
        if base is None or line.peek().text in ("+", "-"):
            if base is not None:
                line.takes("+")
            offset = line.whole(self._names, "an offset", -_SIGN, _WORD)
            self._use_immediate(offset)
        else:
            self._use_immediate(0)
        line.expect("]")
        return base or Operand()

    def _increment(self) -> int:
        token = self._line.next()
        register = self._read.a
        match = REGISTER.fullmatch(token.text)
        if register.source not in (Source.REGISTER, Source.SCALAR):
            self._line.fail_at(token, "the line's end")
        if match is None or match[1] != "s" or int(match[2]) != register.index:
            self._line.fail_at(token, f"s{register.index}, the address's register")
        self._line.expect("+=")
        least = -_MOST_INCREMENT - 1
        return self._line.whole(self._names, "an increment", least, _MOST_INCREMENT)

    def _use_immediate(self, value: int) -> None:
        word = value & _WORD
        if self._immediate not in (None, word):
            self._line.fail(f"{value}: the instruction's immediate is {self._immediate} already")
        self._immediate = word

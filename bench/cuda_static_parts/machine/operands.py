"""Operands of instructions as text, and what the interpreter gets for them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.cuda_static_parts.machine.records import TRUE
from bench.cuda_static_parts.sass import Instruction

_NEGATED, _ABSOLUTE, _INVERTED = 1, 2, 4

PREDICATE = re.compile(r"(?P<negated>!?)(?P<uniform>U?)P(?P<number>[0-6T])")
_REGISTER = re.compile(
    r"(?P<minus>-?)(?P<bar>\|?)(?P<tilde>~?)(?P<uniform>U?)R(?P<number>\d+|Z)"
    r"(?:\.64|\.U32|\.(?P<part>H0_H0|H1_H1|H1|B[0-3]))?\|?"
)
CONSTANT = re.compile(
    r"(?P<minus>-?)(?P<bar>\|?)c\[(?P<bank>0x[0-9a-f]+)\]\[(?:(?P<index>U?R\w+)\+?)?"
    r"(?P<offset>-?0x[0-9a-f]+)?\]\|?"
)
_PARTS = {"H1_H1": 16, "H1": 16, "B1": 8, "B2": 16, "B3": 24}
"""The first bit."""


Value = int | tuple[int, int]
"""A number, or bank and offset of a constant."""


class UnknownError(Exception):
    """There is no such operation here."""


@dataclass
class Operands:
    """An instruction's operands by their kind: the result, predicates before and after the first
    source, and sources."""

    result: str = ""
    outputs: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)


class OperandDecoder:
    """The operands of one kernel's instructions.

    rows, uniform
        as ``Code`` has them.
    pool
        operands that are the same for all lanes, as ``Code`` has them.
    """

    def __init__(self, code: Sequence[Instruction]) -> None:
        self._labels = {each.label: at for at, each in enumerate(code) if each.label}
        self.uniform = _most(r"\bR(\d+)\b", code) + 8  # results may take several
        self.rows = self.uniform + _most(r"\bUR(\d+)\b", code) + 8
        self.pool: list[Value] = []
        self._places: dict[tuple[Value, ...], int] = {}
        self._place((0, 0, 0, 0))

    def _place(self, values: tuple[Value, ...]) -> int:
        """Where consecutive operands are in the pool."""
        if values not in self._places:
            self._places[values] = len(self.pool)
            self.pool += values
        return self._places[values]

    @staticmethod
    def predicate(text: str) -> tuple[int, int]:
        """Its number, and whether it is negated."""
        matched = PREDICATE.fullmatch(text)
        if not matched:
            raise UnknownError(f"no predicate {text}")
        number = TRUE if matched["number"] == "T" else int(matched["number"])
        return number + 8 * bool(matched["uniform"]), bool(matched["negated"])

    def row(self, text: str) -> int:
        """The row of a register; -1 for the one that is zero."""
        matched = _REGISTER.fullmatch(text)
        if not matched:
            raise UnknownError(f"no register {text}")
        if matched["number"] == "Z":
            return -1
        return int(matched["number"]) + (self.uniform if matched["uniform"] else 0)

    def operand(self, text: str, wide: bool = False, real: bool = False) -> tuple[int, int]:
        """Row and flags. A negative row is of the pool: -1 its first. With ``wide`` it has two."""
        if matched := _REGISTER.fullmatch(text):
            flags = _NEGATED * bool(matched["minus"]) | _ABSOLUTE * bool(matched["bar"])
            flags |= _INVERTED * bool(matched["tilde"])
            return self.row(text), flags | _PARTS.get(matched["part"], 0) << 8
        if matched := CONSTANT.fullmatch(text):
            if matched["index"]:
                raise UnknownError(f"indexed constant {text}")
            bank, offset = int(matched["bank"], 16), int(matched["offset"] or "0", 16)
            flags = _NEGATED * bool(matched["minus"]) | _ABSOLUTE * bool(matched["bar"])
            places = [(bank, offset)] + [(bank, offset + 4)] * wide
            return -1 - self._place(tuple(places)), flags
        value = _float_bits(text) if real else int(text, 0)
        values = [value & 0xFFFFFFFF] + [-(value < 0) & 0xFFFFFFFF] * wide
        return -1 - self._place(tuple(values)), 0

    @staticmethod
    def sort(operands: Sequence[str], has_result: bool = True) -> Operands:
        """Operands by their kind."""
        sorted_ = Operands()
        for text in operands:
            if PREDICATE.fullmatch(text):
                (sorted_.inputs if sorted_.sources else sorted_.outputs).append(text)
            elif has_result and not sorted_.result:
                sorted_.result = text
            else:
                sorted_.sources.append(text)
        return sorted_

    def fill(
        self, record: np.void, operands: Operands, wide: Sequence[int] = (), real: bool = False
    ) -> None:
        """Fills the record's result, predicates and sources; sources numbered in ``wide`` have two
        registers, ``real`` ones may be floating-point numbers."""
        if operands.result:
            record["result"] = self.row(operands.result)
            record["uniform"] = operands.result.startswith("U")
        for at, text in enumerate(operands.outputs):
            record["outputs"][at] = self.predicate(text)[0]
            record["uniform"] |= text.startswith("UP")
        for at, text in enumerate(operands.inputs):
            record["inputs"][at] = self.predicate(text)
        for at, text in enumerate(operands.sources):
            record["operands"][at] = self.operand(text, at in wide, real)

    def label(self, texts: Sequence[str]) -> int:
        """The number of the instruction that the last operand names."""
        matched = re.search(r"`\((.*?)\)", texts[-1])
        if not matched:
            raise UnknownError("no label")
        return self._labels[matched[1]]

    def address(self, record: np.void, text: str) -> bool:
        """Fills the operands 0 and 1, and the offset. Whether it has 64 bits."""
        matched = re.fullmatch(r"(?:desc\[UR\d+\])?\[(?P<terms>.*)\]", text)
        if not matched:
            raise UnknownError(f"no address {text}")
        base, uniform, wide = "RZ", "URZ", False
        for term in matched["terms"].split("+"):
            if term.startswith("UR"):
                uniform = term
            elif term.startswith("R"):
                base, wide = term, term.endswith(".64")
            else:
                record["offset"] = int(term, 0)
        record["operands"][0] = self.operand(base)
        record["operands"][1] = self.operand(uniform)
        return wide


def _float_bits(text: str) -> int:
    text = text.replace("QNAN", "nan").replace("SNAN", "nan").replace("INF", "inf")
    bits: int = struct.unpack("<I", struct.pack("<f", float(text)))[0]
    return bits


def _most(pattern: str, code: Sequence[Instruction]) -> int:
    """The greatest number that the pattern finds in operands."""
    return max(
        (int(each) for line in code for each in re.findall(pattern, line.operands)), default=0
    )


Handler = Callable[[OperandDecoder, np.void, list[str], list[str]], str]
"""Fills a record, given an instruction's operands and modifiers; the name of its operation."""


def simple(operation: str, wide: Sequence[int] = (), real: bool = False) -> Handler:
    """A handler of what has a result and sources, and nothing else."""

    def handle(
        code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]
    ) -> str:
        code.fill(record, code.sort(texts, True), wide, real)
        return operation

    return handle

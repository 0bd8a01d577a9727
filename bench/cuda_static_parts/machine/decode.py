"""Machine code as the interpreter has it: an array of records, and a pool of operands that are the
same for all lanes."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.cuda_static_parts.sass import Instruction

FOLDER = Path(__file__).parent
_NAMES = re.findall(r"OPERATION\((\w+)\)", (FOLDER / "operations.h").read_text(encoding="utf-8"))
OPERATIONS = {name: number for number, name in enumerate(_NAMES)}

_GUARD = [("predicate", "u1"), ("negated", "u1")]
_OPERAND = [("row", "i4"), ("flags", "u4")]
INSTRUCTION = np.dtype(
    [
        ("operation", "u2"),
        ("guard", _GUARD),
        ("inputs", _GUARD, 3),
        ("outputs", "u1", 2),
        ("uniform", "u1"),
        ("count", "u1"),
        ("result", "i4"),
        ("target", "i4"),
        ("mode", "u4"),
        ("offset", "i4"),
        ("operands", _OPERAND, 4),
    ],
    align=True,
)

TRUE = 7
"""The predicate that always holds."""

_NEGATED, _ABSOLUTE, _INVERTED = 1, 2, 4

_COMPARISONS = ("F", "LT", "EQ", "LE", "GT", "NE", "GE", "T")
_COMBINATIONS = ("AND", "OR", "XOR")
_SHUFFLES = ("IDX", "UP", "DOWN", "BFLY")
_FUNCTIONS = ("RCP", "RSQ", "SQRT", "EX2", "LG2")
_REDUCTIONS = ("ADD", "MIN", "MAX", "AND", "OR", "XOR", "INC", "EXCH", "CAS")
_ROUNDINGS = ("", "RM", "RP", "RZ")
_SPECIALS = {
    **dict.fromkeys(("SRZ", "SR_CgaCtaId", "SR_TID.Y", "SR_TID.Z", "SR_CTAID.Y", "SR_CTAID.Z"), 9),
    **{"SR_TID.X": 0, "SR_CTAID.X": 1, "SR_LANEID": 2, "SR_VIRTUALSMID": 3, "SR_SMID": 3},
    **{"SR_EQMASK": 4, "SR_LTMASK": 5, "SR_LEMASK": 6, "SR_GTMASK": 7, "SR_GEMASK": 8},
}
"""9: zero."""

_PREDICATE = re.compile(r"(?P<negated>!?)(?P<uniform>U?)P(?P<number>[0-6T])")
_REGISTER = re.compile(
    r"(?P<minus>-?)(?P<bar>\|?)(?P<tilde>~?)(?P<uniform>U?)R(?P<number>\d+|Z)"
    r"(?:\.64|\.U32|\.(?P<part>H0_H0|H1_H1|H1|B[0-3]))?\|?"
)
_CONSTANT = re.compile(
    r"(?P<minus>-?)(?P<bar>\|?)c\[(?P<bank>0x[0-9a-f]+)\]\[(?:(?P<index>U?R\w+)\+?)?"
    r"(?P<offset>-?0x[0-9a-f]+)?\]\|?"
)
_PARTS = {"H1_H1": 16, "H1": 16, "B1": 8, "B2": 16, "B3": 24}
"""The first bit."""
_NOTE = re.compile(r"\(\*.*?\*\)|\.reuse")


@dataclass
class Code:
    """Decoded instructions.

    instructions
        ``INSTRUCTION`` [n].
    rows
        registers of a warp: those of its threads, and from ``uniform`` on those that all share.
    pool
        operands that are not registers: numbers, and ``(bank, offset)`` of constants.
    unknown
        by number of an instruction, what there is no operation for.
    """

    instructions: np.ndarray
    rows: int
    uniform: int
    pool: list[int | tuple[int, int]]
    unknown: dict[int, str]


def decode(code: Sequence[Instruction]) -> Code:
    """Decodes a kernel; what is not known is an error only when it is executed."""
    return _Decoder(code).decode()


@dataclass
class _Operands:
    """An instruction's operands by their kind: the result, predicates before and after the first
    source, and sources."""

    result: str = ""
    outputs: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)


class _UnknownError(Exception):
    pass


class _Decoder:
    def __init__(self, code: Sequence[Instruction]) -> None:
        self._code = code
        self._labels = {each.label: at for at, each in enumerate(code) if each.label}
        numbers = [
            int(number) for each in code for number in re.findall(r"\bR(\d+)\b", each.operands)
        ]
        self._uniform = max([*numbers, 0]) + 8  # results may take several
        uniforms = [
            int(number) for each in code for number in re.findall(r"\bUR(\d+)\b", each.operands)
        ]
        self._rows = self._uniform + max([*uniforms, 0]) + 8
        self._pool: dict[tuple[int | tuple[int, int], ...], int] = {}
        self._values: list[int | tuple[int, int]] = []
        self._place((0, 0, 0, 0))

    def decode(self) -> Code:
        records = np.zeros(len(self._code), INSTRUCTION)
        unknown = {}
        for at, each in enumerate(self._code):
            record = records[at]
            record["outputs"] = TRUE
            record["inputs"]["predicate"] = TRUE
            record["guard"]["predicate"] = TRUE
            record["result"] = -1
            record["target"] = -1
            record["count"] = 1
            try:
                if each.predicate:
                    record["guard"] = self._predicate(each.predicate)
                self._decode(each, record)
            except (_UnknownError, ValueError, KeyError, IndexError) as error:
                unknown[at] = f"{each.opcode} {each.operands}: {error}"
                record["operation"] = OPERATIONS["UNKNOWN"]
        return Code(records, self._rows, self._uniform, self._values, unknown)

    # Operands.

    def _place(self, values: tuple[int | tuple[int, int], ...]) -> int:
        """Where consecutive operands are in the pool."""
        if values not in self._pool:
            self._pool[values] = len(self._values)
            self._values += values
        return self._pool[values]

    @staticmethod
    def _predicate(text: str) -> tuple[int, int]:
        matched = _PREDICATE.fullmatch(text)
        if not matched:
            raise _UnknownError(f"no predicate {text}")
        number = TRUE if matched["number"] == "T" else int(matched["number"])
        return number + 8 * bool(matched["uniform"]), bool(matched["negated"])

    def _row(self, text: str) -> int:
        """Of a register; -1 for the one that is zero."""
        matched = _REGISTER.fullmatch(text)
        if not matched:
            raise _UnknownError(f"no register {text}")
        if matched["number"] == "Z":
            return -1
        return int(matched["number"]) + (self._uniform if matched["uniform"] else 0)

    def _operand(self, text: str, wide: bool = False, real: bool = False) -> tuple[int, int]:
        """Row and flags. A negative row is of the pool: -1 its first."""
        if matched := _REGISTER.fullmatch(text):
            flags = _NEGATED * bool(matched["minus"]) | _ABSOLUTE * bool(matched["bar"])
            flags |= _INVERTED * bool(matched["tilde"])
            return self._row(text), flags | _PARTS.get(matched["part"], 0) << 8
        if matched := _CONSTANT.fullmatch(text):
            if matched["index"]:
                raise _UnknownError(f"indexed constant {text}")
            bank, offset = int(matched["bank"], 16), int(matched["offset"] or "0", 16)
            flags = _NEGATED * bool(matched["minus"]) | _ABSOLUTE * bool(matched["bar"])
            places = [(bank, offset)] + [(bank, offset + 4)] * wide
            return -1 - self._place(tuple(places)), flags
        value = _float_bits(text) if real else int(text, 0)
        values = [value & 0xFFFFFFFF] + [-(value < 0) & 0xFFFFFFFF] * wide
        return -1 - self._place(tuple(values)), 0

    def _sort(self, operands: Sequence[str], has_result: bool) -> _Operands:
        sorted_ = _Operands()
        for text in operands:
            if _PREDICATE.fullmatch(text):
                (sorted_.inputs if sorted_.sources else sorted_.outputs).append(text)
            elif has_result and not sorted_.result:
                sorted_.result = text
            else:
                sorted_.sources.append(text)
        return sorted_

    def _fill(
        self, record: np.void, operands: _Operands, wide: Sequence[int] = (), real: bool = False
    ) -> None:
        """The record's result, predicates and sources."""
        if operands.result:
            record["result"] = self._row(operands.result)
            record["uniform"] = operands.result.startswith("U")
        for at, text in enumerate(operands.outputs):
            record["outputs"][at] = self._predicate(text)[0]
            record["uniform"] |= text.startswith("UP")
        for at, text in enumerate(operands.inputs):
            record["inputs"][at] = self._predicate(text)
        for at, text in enumerate(operands.sources):
            record["operands"][at] = self._operand(text, at in wide, real)

    # Operations.

    def _decode(self, each: Instruction, record: np.void) -> None:
        texts = [text.strip() for text in _NOTE.sub("", each.operands).split(",")]
        texts = [text for text in texts if text]
        name, *modifiers = each.opcode.split(".")
        if name.startswith("U") and name not in ("UBLKCP",):
            name = name[1:]  # the same, for all lanes at once
        handler = _HANDLERS.get(name)
        if handler is None or not {*modifiers} <= _MODIFIERS.get(name, {*modifiers}):
            raise _UnknownError("not known")
        operation = handler(self, record, texts, modifiers)
        record["operation"] = OPERATIONS[operation]

    def _label(self, texts: Sequence[str]) -> int:
        matched = re.search(r"`\((.*?)\)", texts[-1])
        if not matched:
            raise _UnknownError("no label")
        return self._labels[matched[1]]

    def _address(self, record: np.void, text: str) -> bool:
        """Fills the operands 0 and 1, and the offset. Whether it has 64 bits."""
        matched = re.fullmatch(r"(?:desc\[UR\d+\])?\[(?P<terms>.*)\]", text)
        if not matched:
            raise _UnknownError(f"no address {text}")
        base, uniform, wide = "RZ", "URZ", False
        for term in matched["terms"].split("+"):
            if term.startswith("UR"):
                uniform = term
            elif term.startswith("R"):
                base, wide = term, term.endswith(".64")
            else:
                record["offset"] = int(term, 0)
        record["operands"][0] = self._operand(base)
        record["operands"][1] = self._operand(uniform)
        return wide


def _float_bits(text: str) -> int:
    text = text.replace("QNAN", "nan").replace("SNAN", "nan").replace("INF", "inf")
    bits: int = struct.unpack("<I", struct.pack("<f", float(text)))[0]
    return bits


_Handler = Callable[[_Decoder, np.void, list[str], list[str]], str]


def _simple(operation: str, wide: Sequence[int] = (), real: bool = False) -> _Handler:
    def handle(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
        self._fill(record, self._sort(texts, True), wide, real)
        return operation

    return handle


def _ignored(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    return "NOTHING"


def _add3(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    operands = self._sort(texts, True)
    self._fill(record, operands)
    record["mode"] = "X" in modifiers
    if len(operands.sources) < 3:
        record["operands"][2] = (-1, 0)
    return "ADD3" if modifiers or operands.outputs else "ADD_PLAIN"


def _imad(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    operands = self._sort(texts, True)
    wide, high = "WIDE" in modifiers, "HI" in modifiers
    self._fill(record, operands, (2,) if wide or high else ())
    record["mode"] = ("U32" not in modifiers) | ("X" in modifiers) << 1
    record["count"] = 2 if wide else 1
    return "MAD_WIDE" if wide else "MAD_HIGH" if high else "MAD"


def _hfma2(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    """Only what moves a number into a register: two halves."""
    result, first, second, high, low = texts
    if {first.strip("-"), second.strip("-")} != {"RZ"}:
        raise _UnknownError("packed halves")
    bits = [int(np.float16(float(each)).view(np.uint16)) for each in (high, low)]
    self._fill(record, _Operands(result, sources=[hex(bits[0] << 16 | bits[1])]))
    return "MOV"


def _min_max(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, True))
    record["mode"] = "U32" not in modifiers
    return "MIN_MAX"


def _min_max3(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    _min_max(self, record, texts, modifiers)
    return "MIN_MAX3"


def _add_min_max(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    _min_max(self, record, texts, modifiers)
    if "RELU" in modifiers:
        raise _UnknownError("RELU")
    return "ADD_MIN_MAX"


def _lea(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    operands = self._sort(texts, True)
    record["offset"] = int(operands.sources.pop(), 0)
    self._fill(record, operands)
    if "HI" not in modifiers:
        return "LEA"
    record["mode"] = ("X" in modifiers) | ("SX32" in modifiers) << 1
    return "LEA_HIGH"


def _lop3(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    operands = self._sort(texts, True)
    record["mode"] = int(operands.sources.pop(), 0) | ("PAND" in modifiers) << 8
    self._fill(record, operands)
    return "LOGIC"


def _plop3(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    *predicates, first, second = texts
    self._fill(record, _Operands(outputs=predicates[:2], inputs=predicates[2:]))
    record["mode"] = int(first, 0) | int(second, 0) << 8
    return "PREDICATE_LOGIC"


def _compare_mode(modifiers: list[str]) -> int:
    comparison = next(each for each in modifiers if each in _COMPARISONS)
    combination = next((each for each in modifiers if each in _COMBINATIONS), "AND")
    mode = _COMPARISONS.index(comparison) | _COMBINATIONS.index(combination) << 3
    return mode | ("U32" not in modifiers) << 5 | ("EX" in modifiers) << 6


def _isetp(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, False))
    record["mode"] = _compare_mode(modifiers)
    return "COMPARE"


def _fsetp(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, False), real=True)
    unordered = [each for each in modifiers if each.endswith("U") and each[:-1] in _COMPARISONS]
    plain = [each[:-1] if each in unordered else each for each in modifiers]
    record["mode"] = _compare_mode(plain) | bool(unordered) << 7
    return "F_COMPARE"


def _fchk(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, False), real=True)
    return "F_CHECK"


def _shf(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, True))
    record["mode"] = (
        ("R" in modifiers)
        | ("HI" in modifiers) << 1
        | bool({"S32", "S64"} & {*modifiers}) << 2
        | bool({"U64", "S64"} & {*modifiers}) << 3
        | ("W" in modifiers) << 4
    )
    return "SHIFT"


def _mufu(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, True), real=True)
    record["mode"] = _FUNCTIONS.index(modifiers[0])
    return "F_FUNCTION"


def _flo(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, True))
    record["mode"] = ("U32" not in modifiers) | ("SH" in modifiers) << 1
    return "LEADING"


def _i2f(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if "F64" in modifiers or "F16" in modifiers:
        raise _UnknownError("such a conversion")
    self._fill(record, self._sort(texts, True))
    type_ = next((each for each in modifiers if re.fullmatch(r"[US]\d+", each)), "S32")
    rounding = next((each for each in modifiers if each in _ROUNDINGS), "")
    record["mode"] = (type_[0] == "S") | _ROUNDINGS.index(rounding) << 1 | int(type_[1:]) << 4
    return "INT_TO_FLOAT"


def _f2i(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if {"F64", "F16"} & {*modifiers} or "TRUNC" not in modifiers:
        raise _UnknownError("such a conversion")
    self._fill(record, self._sort(texts, True), real=True)
    type_ = next((each for each in modifiers if re.fullmatch(r"[US]\d+", each)), "S32")
    record["mode"] = (type_[0] == "S") | ("64" in type_) << 1
    return "FLOAT_TO_INT"


def _hadd2(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    """Only what makes a half a float."""
    if modifiers != ["F32"] or texts[1] != "-RZ":
        raise _UnknownError("packed halves")
    self._fill(record, self._sort(texts, True))
    return "HALF_TO_FLOAT"


def _f2fp(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if modifiers[1:] != ["F32", "PACK_AB"] or modifiers[0] not in ("F16", "BF16"):
        raise _UnknownError("such a conversion")
    self._fill(record, self._sort(texts, True), real=True)
    record["mode"] = modifiers[0] == "BF16"
    return "PACK_HALVES"


def _p2r(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    result, predicates, *sources = texts
    self._fill(record, _Operands(result, sources=sources))
    record["offset"] = 8 * int(predicates.removeprefix("PR").removeprefix(".B") or 0)
    return "PACK_PREDICATES"


def _r2p(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    predicates, register, mask = texts
    register, _, byte = register.partition(".B")
    self._fill(record, _Operands(sources=[register, mask]))
    if predicates != "PR":
        raise _UnknownError("such predicates")
    record["offset"] = 8 * int(byte or 0)
    return "UNPACK_PREDICATES"


def _special(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, _Operands(texts[0]))
    record["mode"] = _SPECIALS[texts[1]]
    return "SPECIAL"


def _cs2r(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if texts[1] != "SRZ":
        raise _UnknownError(texts[1])
    self._fill(record, _Operands(texts[0]))
    record["count"] = 1 if "32" in modifiers else 2
    return "ZERO_WIDE"


def _shfl(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, True))
    record["mode"] = _SHUFFLES.index(modifiers[0])
    return "SHUFFLE"


def _vote(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    """With a ballot, whether a condition holds, or both."""
    has_ballot = not _PREDICATE.fullmatch(texts[0])
    *outputs, vote = texts[has_ballot:]
    self._fill(record, _Operands(texts[0] if has_ballot else "", outputs, inputs=[vote]))
    record["mode"] = ("ALL", "ANY").index(modifiers[0])
    return "VOTE"


def _redux(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, True))
    names = ["ADD" if each == "SUM" else each for each in modifiers] or ["AND"]
    record["mode"] = _REDUCTIONS.index(names[0]) | ("S32" in modifiers) << 4
    return "REDUCE"


def _match(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if modifiers != ["ANY"]:
        raise _UnknownError("such a match")
    self._fill(record, self._sort(texts, True))
    return "MATCH"


_SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


def _size(modifiers: list[str]) -> tuple[int, bool]:
    """Bytes of an access, and whether it is of a signed number."""
    size = next((bytes_ for name, bytes_ in _SIZES.items() if name in modifiers), 4)
    return size, bool({"S8", "S16"} & {*modifiers})


def _ldc(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    matched = _CONSTANT.fullmatch(texts[1])
    if not matched:
        raise _UnknownError(texts[1])
    size, signed = _size(modifiers)
    self._fill(record, _Operands(texts[0], sources=[matched["index"] or "RZ"]))
    record["offset"] = int(matched["offset"] or "0", 16)
    record["mode"] = int(matched["bank"], 16) | signed << 8 | size << 9
    record["count"] = max(size // 4, 1)
    return "LOAD_CONSTANT"


def _access_mode(record: np.void, wide: bool, space: int, modifiers: list[str]) -> None:
    size, signed = _size(modifiers)
    record["mode"] = space | wide << 2 | signed << 3 | size << 4
    record["count"] = max(size // 4, 1)


def _load(space: int) -> _Handler:
    def handle(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
        self._fill(record, _Operands(texts[0]))
        _access_mode(record, self._address(record, texts[1]), space, modifiers)
        return "LOAD"

    return handle


def _store(space: int) -> _Handler:
    def handle(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
        _access_mode(record, self._address(record, texts[0]), space, modifiers)
        record["operands"][2] = self._operand(texts[1])
        return "STORE"

    return handle


def _atomic(space: int, has_result: bool) -> _Handler:
    def handle(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
        texts = [text for text in texts if not _PREDICATE.fullmatch(text)]
        if has_result:
            self._fill(record, _Operands(texts.pop(0)))
        wide = self._address(record, texts[0])
        operation = next(each for each in modifiers if each in _REDUCTIONS)
        if {"F32", "F16x2", "CAST"} & {*modifiers}:
            raise _UnknownError("such an atomic operation")
        size = 8 if "64" in modifiers else 4
        signed = "S32" in modifiers or "S64" in modifiers
        for at, text in enumerate(texts[1:]):
            record["operands"][2 + at] = self._operand(text)
        record["mode"] = (
            space | wide << 2 | signed << 3 | size << 4 | _REDUCTIONS.index(operation) << 12
        )
        record["count"] = size // 4
        return "ATOMIC"

    return handle


def _copy(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    """From global memory (second) to shared (first)."""
    shared = np.zeros(1, INSTRUCTION)[0]
    self._address(shared, texts[0])
    _access_mode(record, self._address(record, texts[1]), 0, modifiers)
    record["operands"][2] = shared["operands"][0]
    record["operands"][3] = shared["operands"][1]
    record["target"] = shared["offset"]
    for text in texts[2:]:
        record["inputs"][0] = self._predicate(text)
    return "COPY"


def _bar(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    operands = self._sort(texts, False)
    number, *count = operands.sources
    record["offset"] = int(number, 0)
    for text in operands.inputs:
        record["inputs"][0] = self._predicate(text)
    record["target"] = int(count[0], 0) if count else 0
    kinds = {"SYNC": 0, "RED": 1, "ARV": 2}
    reductions = {"POPC": 0, "AND": 1, "OR": 2}
    record["mode"] = kinds[modifiers[0]] | reductions.get((modifiers[1:] or [""])[0], 0) << 4
    return "BARRIER"


def _b2r(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if modifiers != ["RESULT"]:
        raise _UnknownError("such a register")
    self._fill(record, _Operands(texts[0], texts[1:]))
    return "BARRIER_RESULT"


def _convergence(operation: str) -> _Handler:
    def handle(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
        record["offset"] = int(texts[0].removeprefix("B"))
        return operation

    return handle


def _warpsync(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if "ALL" in modifiers:
        record["operands"][0] = self._operand("0xffffffff")
    else:
        record["operands"][0] = self._operand(texts[0])
    return "SYNC_WARP"


def _bra(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    record["target"] = self._label(texts)
    if "DIV" in modifiers:
        record["operands"][0] = self._operand(texts[0].replace("~URZ", "0xffffffff"))
        return "BRANCH_DIVERGENT"
    text = texts[-1].partition("`")[0].strip()
    for condition in [*texts[:-1], *([text] if text else [])]:
        record["inputs"][0] = self._predicate(condition)
    return "BRANCH"


def _ret(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    record["operands"][0] = self._operand(texts[0].split()[0])
    return "RETURN"


def _exit(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    for text in texts:
        record["inputs"][0] = self._predicate(text)
    return "EXIT"


def _brev(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, True))
    return "REVERSE"


def _bmsk(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, True))
    record["mode"] = "W" in modifiers
    return "BIT_MASK"


def _sgxt(self: _Decoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    self._fill(record, self._sort(texts, True))
    record["mode"] = ("U32" not in modifiers) | ("W" in modifiers) << 1
    return "SIGN_EXTEND"


_IGNORED = (
    *("NOP", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "YIELD", "NANOSLEEP", "ENDCOLLECTIVE"),
    *("LDGDEPBAR", "DEPBAR", "ACQBULK", "PREEXIT", "WARPGROUP", "CCTLL", "PRMTNOP", "FENCE"),
)

_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(_IGNORED, _ignored),
    "MOV": _simple("MOV"),
    "IADD3": _add3,
    "VIADD": _add3,
    "IMAD": _imad,
    "HFMA2": _hfma2,
    "VIADDMNMX": _add_min_max,
    "VIMNMX": _min_max,
    "IMNMX": _min_max,
    "VIMNMX3": _min_max3,
    "LEA": _lea,
    "LOP3": _lop3,
    "PLOP3": _plop3,
    "ISETP": _isetp,
    "SEL": _simple("SELECT"),
    "FSEL": _simple("SELECT", real=True),
    "SHF": _shf,
    "PRMT": _simple("PERMUTE"),
    "IABS": _simple("ABSOLUTE"),
    "POPC": _simple("POPULATION"),
    "FLO": _flo,
    "BREV": _brev,
    "BMSK": _bmsk,
    "SGXT": _sgxt,
    "FADD": _simple("F_ADD", real=True),
    "FMUL": _simple("F_MUL", real=True),
    "FFMA": _simple("F_FMA", real=True),
    "FMNMX": _simple("F_MIN_MAX", real=True),
    "FSETP": _fsetp,
    "FCHK": _fchk,
    "MUFU": _mufu,
    "I2F": _i2f,
    "I2FP": _i2f,
    "F2I": _f2i,
    "HADD2": _hadd2,
    "F2FP": _f2fp,
    "P2R": _p2r,
    "R2P": _r2p,
    "S2R": _special,
    "S2UR": _special,
    "CS2R": _cs2r,
    "R2UR": _simple("TO_UNIFORM"),
    "SHFL": _shfl,
    "VOTE": _vote,
    "VOTEU": _vote,
    "REDUX": _redux,
    "MATCH": _match,
    "LDC": _ldc,
    "LDG": _load(0),
    "LDS": _load(1),
    "LDL": _load(2),
    "STG": _store(0),
    "STS": _store(1),
    "STL": _store(2),
    "ATOMG": _atomic(0, True),
    "ATOMS": _atomic(1, True),
    "RED": _atomic(0, False),
    "REDG": _atomic(0, False),
    "LDGSTS": _copy,
    "BAR": _bar,
    "B2R": _b2r,
    "BSSY": _convergence("BEGIN_CONVERGENCE"),
    "BSYNC": _convergence("CONVERGE"),
    "BREAK": _convergence("LEAVE_CONVERGENCE"),
    "WARPSYNC": _warpsync,
    "BRA": _bra,
    "CALL": _bra,
    "RET": _ret,
    "EXIT": _exit,
}

_TYPES = {"U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64"}
_MEMORY = {
    *{"E", "EF", "EL", "LU", "CONSTANT", "STRONG", "WEAK", "GPU", "SYS", "CTA", "SM", "64", "128"},
    *{"U8", "S8", "U16", "S16", "LTC64B", "LTC128B", "LTC256B", "PRIVATE", "NA"},
}
_MODIFIERS: dict[str, set[str]] = {
    **dict.fromkeys(("LDG", "LDS", "LDL", "STG", "STS", "STL"), _MEMORY),
    "LDGSTS": {*_MEMORY, "BYPASS"},
    **dict.fromkeys(("FADD", "FMUL", "FFMA", "FMNMX", "FSEL", "FCHK"), {"DIVIDE"}),
    "MUFU": {*_FUNCTIONS},
    "FSETP": {*_COMPARISONS, *_COMBINATIONS, *(f"{each}U" for each in _COMPARISONS)},
    "ISETP": {*_COMPARISONS, *_COMBINATIONS, "U32", "EX"},
    "IADD3": {"X"},
    "VIADD": set(),
    "IMAD": {"MOV", "U32", "IADD", "SHL", "WIDE", "HI", "X"},
    "LEA": {"HI", "X", "SX32"},
    "LOP3": {"LUT", "PAND"},
    "PLOP3": {"LUT"},
    "SHF": {*_TYPES, "L", "R", "HI", "W"},
    "PRMT": set(),
    "VIMNMX": {"U32"},
    "VIADDMNMX": {"U32"},
    "VIMNMX3": {"U32"},
    "I2F": {*_TYPES, *_ROUNDINGS},
    "I2FP": {*_TYPES, *_ROUNDINGS, "F32"},
    "F2I": {*_TYPES, "FTZ", "TRUNC", "NTZ"},
    "BAR": {"SYNC", "RED", "ARV", "AND", "OR", "POPC", "DEFER_BLOCKING"},
}
"""Modifiers that are minded, or change nothing here: an instruction with others is not known."""

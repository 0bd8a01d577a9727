"""Instructions that read and write memory."""

from __future__ import annotations

import numpy as np

from bench.cuda_static_parts.machine.lanes import REDUCTIONS
from bench.cuda_static_parts.machine.operands import (
    CONSTANT,
    PREDICATE,
    Handler,
    OperandDecoder,
    Operands,
    UnknownError,
)
from bench.cuda_static_parts.machine.records import INSTRUCTION

_SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


def _size(modifiers: list[str]) -> tuple[int, bool]:
    """Bytes of an access, and whether it is of a signed number."""
    size = next((bytes_ for name, bytes_ in _SIZES.items() if name in modifiers), 4)
    return size, bool({"S8", "S16"} & {*modifiers})


def _ldc(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    matched = CONSTANT.fullmatch(texts[1])
    if not matched:
        raise UnknownError(texts[1])
    size, signed = _size(modifiers)
    code.fill(record, Operands(texts[0], sources=[matched["index"] or "RZ"]))
    record["offset"] = int(matched["offset"] or "0", 16)
    record["mode"] = int(matched["bank"], 16) | signed << 8 | size << 9
    record["count"] = max(size // 4, 1)
    return "LOAD_CONSTANT"


def _access_mode(record: np.void, wide: bool, space: int, modifiers: list[str]) -> None:
    size, signed = _size(modifiers)
    record["mode"] = space | wide << 2 | signed << 3 | size << 4
    record["count"] = max(size // 4, 1)


def _load(space: int) -> Handler:
    def handle(
        code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]
    ) -> str:
        code.fill(record, Operands(texts[0]))
        _access_mode(record, code.address(record, texts[1]), space, modifiers)
        return "LOAD"

    return handle


def _store(space: int) -> Handler:
    def handle(
        code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]
    ) -> str:
        _access_mode(record, code.address(record, texts[0]), space, modifiers)
        record["operands"][2] = code.operand(texts[1])
        return "STORE"

    return handle


def _atomic(space: int, has_result: bool) -> Handler:
    def handle(
        code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]
    ) -> str:
        texts = [text for text in texts if not PREDICATE.fullmatch(text)]
        if has_result:
            code.fill(record, Operands(texts.pop(0)))
        wide = code.address(record, texts[0])
        operation = next(each for each in modifiers if each in REDUCTIONS)
        if {"F32", "F16x2", "CAST"} & {*modifiers}:
            raise UnknownError("such an atomic operation")
        size = 8 if "64" in modifiers else 4
        signed = "S32" in modifiers or "S64" in modifiers
        for at, text in enumerate(texts[1:]):
            record["operands"][2 + at] = code.operand(text)
        record["mode"] = (
            space | wide << 2 | signed << 3 | size << 4 | REDUCTIONS.index(operation) << 12
        )
        record["count"] = size // 4
        return "ATOMIC"

    return handle


def _copy(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    """From global memory (second) to shared (first)."""
    shared = np.zeros(1, INSTRUCTION)[0]
    code.address(shared, texts[0])
    _access_mode(record, code.address(record, texts[1]), 0, modifiers)
    record["operands"][2] = shared["operands"][0]
    record["operands"][3] = shared["operands"][1]
    record["target"] = shared["offset"]
    for text in texts[2:]:
        record["inputs"][0] = code.predicate(text)
    return "COPY"


_MEMORY = {
    *{"E", "EF", "EL", "LU", "CONSTANT", "STRONG", "WEAK", "GPU", "SYS", "CTA", "SM", "64", "128"},
    *{"U8", "S8", "U16", "S16", "LTC64B", "LTC128B", "LTC256B", "PRIVATE", "NA"},
}

# Generic addresses, too, are of global memory here: any other is outside the launch's arrays.
HANDLERS: dict[str, Handler] = {
    "LDC": _ldc,
    "LD": _load(0),
    "ST": _store(0),
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
}

MODIFIERS = {
    **dict.fromkeys(("LD", "LDG", "LDS", "LDL", "ST", "STG", "STS", "STL"), _MEMORY),
    "LDGSTS": {*_MEMORY, "BYPASS"},
    "LDC": {"U8", "S8", "U16", "S16", "64"},
    **dict.fromkeys(
        ("ATOMG", "ATOMS", "RED", "REDG"), {*_MEMORY, *REDUCTIONS, "S32", "U32", "S64", "U64"}
    ),
}

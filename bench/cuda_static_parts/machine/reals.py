"""Instructions that compute with floating-point numbers, and conversions."""

from __future__ import annotations

import re

import numpy as np

from bench.cuda_static_parts.machine.integers import COMBINATIONS, COMPARISONS, compare_mode
from bench.cuda_static_parts.machine.operands import (
    Handler,
    OperandDecoder,
    UnknownError,
    simple,
)

_FUNCTIONS = ("RCP", "RSQ", "SQRT", "EX2", "LG2")
_ROUNDINGS = ("", "RM", "RP", "RZ")


def _fsetp(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, False), real=True)
    unordered = [each for each in modifiers if each.endswith("U") and each[:-1] in COMPARISONS]
    plain = [each[:-1] if each in unordered else each for each in modifiers]
    record["mode"] = compare_mode(plain) | bool(unordered) << 7
    return "F_COMPARE"


def _fchk(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, False), real=True)
    return "F_CHECK"


def _mufu(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, True), real=True)
    record["mode"] = _FUNCTIONS.index(modifiers[0])
    return "F_FUNCTION"


def _i2f(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if "F64" in modifiers or "F16" in modifiers:
        raise UnknownError("such a conversion")
    code.fill(record, code.sort(texts, True))
    type_ = next((each for each in modifiers if re.fullmatch(r"[US]\d+", each)), "S32")
    rounding = next((each for each in modifiers if each in _ROUNDINGS), "")
    record["mode"] = (type_[0] == "S") | _ROUNDINGS.index(rounding) << 1 | int(type_[1:]) << 4
    return "INT_TO_FLOAT"


def _f2i(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if {"F64", "F16"} & {*modifiers} or "TRUNC" not in modifiers:
        raise UnknownError("such a conversion")
    code.fill(record, code.sort(texts, True), real=True)
    type_ = next((each for each in modifiers if re.fullmatch(r"[US]\d+", each)), "S32")
    record["mode"] = (type_[0] == "S") | ("64" in type_) << 1
    return "FLOAT_TO_INT"


def _hadd2(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    """Only what makes a half a float."""
    if modifiers != ["F32"] or texts[1] != "-RZ":
        raise UnknownError("packed halves")
    code.fill(record, code.sort(texts, True))
    return "HALF_TO_FLOAT"


def _f2fp(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if modifiers[1:] != ["F32", "PACK_AB"] or modifiers[0] not in ("F16", "BF16"):
        raise UnknownError("such a conversion")
    code.fill(record, code.sort(texts, True), real=True)
    record["mode"] = modifiers[0] == "BF16"
    return "PACK_HALVES"


_TYPES = {"U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64"}

HANDLERS: dict[str, Handler] = {
    "FADD": simple("F_ADD", real=True),
    "FMUL": simple("F_MUL", real=True),
    "FFMA": simple("F_FMA", real=True),
    "FMNMX": simple("F_MIN_MAX", real=True),
    "FSETP": _fsetp,
    "FCHK": _fchk,
    "MUFU": _mufu,
    "I2F": _i2f,
    "I2FP": _i2f,
    "F2I": _f2i,
    "HADD2": _hadd2,
    "F2FP": _f2fp,
}

MODIFIERS = {
    **dict.fromkeys(("FADD", "FMUL", "FFMA", "FMNMX"), set()),
    "FCHK": {"DIVIDE"},
    "MUFU": {*_FUNCTIONS},
    "FSETP": {*COMPARISONS, *COMBINATIONS, *(f"{each}U" for each in COMPARISONS)},
    "I2F": {*_TYPES, *_ROUNDINGS},
    "I2FP": {*_TYPES, *_ROUNDINGS, "F32"},
    "F2I": {*_TYPES, "FTZ", "TRUNC", "NTZ"},
}

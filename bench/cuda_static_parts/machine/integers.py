"""Instructions that compute with integers and predicates."""

from __future__ import annotations

import numpy as np

from bench.cuda_static_parts.machine.operands import (
    Handler,
    OperandDecoder,
    Operands,
    UnknownError,
    simple,
)

COMPARISONS = ("F", "LT", "EQ", "LE", "GT", "NE", "GE", "T")
COMBINATIONS = ("AND", "OR", "XOR")


def _add3(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    operands = code.sort(texts, True)
    code.fill(record, operands)
    record["mode"] = "X" in modifiers
    if len(operands.sources) < 3:
        record["operands"][2] = (-1, 0)
    return "ADD3" if modifiers or operands.outputs else "ADD_PLAIN"


def _imad(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    operands = code.sort(texts, True)
    wide, high = "WIDE" in modifiers, "HI" in modifiers
    code.fill(record, operands, (2,) if wide or high else ())
    record["mode"] = ("U32" not in modifiers) | ("X" in modifiers) << 1
    record["count"] = 2 if wide else 1
    return "MAD_WIDE" if wide else "MAD_HIGH" if high else "MAD"


def _hfma2(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    """Only what moves a number into a register: two halves."""
    result, first, second, high, low = texts
    if {first.strip("-"), second.strip("-")} != {"RZ"}:
        raise UnknownError("packed halves")
    bits = [int(np.float16(float(each)).view(np.uint16)) for each in (high, low)]
    code.fill(record, Operands(result, sources=[hex(bits[0] << 16 | bits[1])]))
    return "MOV"


def _min_max(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, True))
    record["mode"] = ("U32" not in modifiers) | ("RELU" in modifiers) << 1
    return "MIN_MAX"


def _min_max3(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    _min_max(code, record, texts, modifiers)
    return "MIN_MAX3"


def _add_min_max(
    code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]
) -> str:
    _min_max(code, record, texts, modifiers)
    return "ADD_MIN_MAX"


def _lea(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    operands = code.sort(texts, True)
    record["offset"] = int(operands.sources.pop(), 0)
    code.fill(record, operands)
    if "HI" not in modifiers:
        return "LEA"
    record["mode"] = ("X" in modifiers) | ("SX32" in modifiers) << 1
    return "LEA_HIGH"


def _lop3(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    operands = code.sort(texts, True)
    record["mode"] = int(operands.sources.pop(), 0) | ("PAND" in modifiers) << 8
    code.fill(record, operands)
    return "LOGIC"


def _plop3(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    *predicates, first, second = texts
    code.fill(record, Operands(outputs=predicates[:2], inputs=predicates[2:]))
    record["mode"] = int(first, 0) | int(second, 0) << 8
    return "PREDICATE_LOGIC"


def compare_mode(modifiers: list[str]) -> int:
    """The mode of comparisons."""
    comparison = next(each for each in modifiers if each in COMPARISONS)
    combination = next((each for each in modifiers if each in COMBINATIONS), "AND")
    mode = COMPARISONS.index(comparison) | COMBINATIONS.index(combination) << 3
    return mode | ("U32" not in modifiers) << 5 | ("EX" in modifiers) << 6


def _isetp(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, False))
    record["mode"] = compare_mode(modifiers)
    return "COMPARE"


def _shf(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, True))
    record["mode"] = (
        ("R" in modifiers)
        | ("HI" in modifiers) << 1
        | bool({"S32", "S64"} & {*modifiers}) << 2
        | bool({"U64", "S64"} & {*modifiers}) << 3
        | ("W" in modifiers) << 4
    )
    return "SHIFT"


def _flo(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, True))
    record["mode"] = ("U32" not in modifiers) | ("SH" in modifiers) << 1
    return "LEADING"


def _p2r(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    result, predicates, *sources = texts
    code.fill(record, Operands(result, sources=sources))
    record["offset"] = 8 * int(predicates.removeprefix("PR").removeprefix(".B") or 0)
    return "PACK_PREDICATES"


def _r2p(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    predicates, register, mask = texts
    register, _, byte = register.partition(".B")
    code.fill(record, Operands(sources=[register, mask]))
    if predicates != "PR":
        raise UnknownError("such predicates")
    record["offset"] = 8 * int(byte or 0)
    return "UNPACK_PREDICATES"


def _brev(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, True))
    return "REVERSE"


def _bmsk(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, True))
    record["mode"] = "W" in modifiers
    return "BIT_MASK"


def _sgxt(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, True))
    record["mode"] = ("U32" not in modifiers) | ("W" in modifiers) << 1
    return "SIGN_EXTEND"


HANDLERS: dict[str, Handler] = {
    "MOV": simple("MOV"),
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
    "SEL": simple("SELECT"),
    "FSEL": simple("SELECT", real=True),
    "SHF": _shf,
    "PRMT": simple("PERMUTE"),
    "IABS": simple("ABSOLUTE"),
    "POPC": simple("POPULATION"),
    "FLO": _flo,
    "BREV": _brev,
    "BMSK": _bmsk,
    "SGXT": _sgxt,
    "P2R": _p2r,
    "R2P": _r2p,
}

MODIFIERS = {
    "ISETP": {*COMPARISONS, *COMBINATIONS, "U32", "EX"},
    "IADD3": {"X"},
    "VIADD": set(),
    "IMAD": {"MOV", "U32", "IADD", "SHL", "WIDE", "HI", "X"},
    "LEA": {"HI", "X", "SX32"},
    "LOP3": {"LUT", "PAND"},
    "PLOP3": {"LUT"},
    "SHF": {"U32", "S32", "U64", "S64", "L", "R", "HI", "W"},
    **dict.fromkeys(("PRMT", "SEL", "FSEL", "IABS", "POPC", "BREV", "P2R", "R2P"), set()),
    **dict.fromkeys(("VIMNMX", "VIADDMNMX", "VIMNMX3", "IMNMX"), {"U32", "RELU"}),
    "FLO": {"U32", "SH"},
    "BMSK": {"C", "W"},
    "SGXT": {"U32", "W"},
    "HFMA2": {"MMA"},
}

"""Instructions by which lanes know of themselves, and of each other."""

from __future__ import annotations

import numpy as np

from bench.cuda_static_parts.machine.operands import (
    PREDICATE,
    Handler,
    OperandDecoder,
    Operands,
    UnknownError,
    simple,
)

REDUCTIONS = ("ADD", "MIN", "MAX", "AND", "OR", "XOR", "INC", "EXCH", "CAS")
_SHUFFLES = ("IDX", "UP", "DOWN", "BFLY")
_SPECIALS = {
    **dict.fromkeys(("SRZ", "SR_CgaCtaId", "SR_TID.Y", "SR_TID.Z", "SR_CTAID.Y", "SR_CTAID.Z"), 9),
    **{"SR_TID.X": 0, "SR_CTAID.X": 1, "SR_LANEID": 2, "SR_VIRTUALSMID": 3, "SR_SMID": 3},
    **{"SR_EQMASK": 4, "SR_LTMASK": 5, "SR_LEMASK": 6, "SR_GTMASK": 7, "SR_GEMASK": 8},
}
"""9: zero."""


def _special(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, Operands(texts[0]))
    record["mode"] = _SPECIALS[texts[1]]
    return "SPECIAL"


def _cs2r(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if texts[1] != "SRZ":
        raise UnknownError(texts[1])
    code.fill(record, Operands(texts[0]))
    record["count"] = 1 if "32" in modifiers else 2
    return "ZERO_WIDE"


def _shfl(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, True))
    record["mode"] = _SHUFFLES.index(modifiers[0])
    return "SHUFFLE"


def _vote(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    """With a ballot, whether a condition holds, or both."""
    has_ballot = not PREDICATE.fullmatch(texts[0])
    *outputs, vote = texts[has_ballot:]
    code.fill(record, Operands(texts[0] if has_ballot else "", outputs, inputs=[vote]))
    record["mode"] = ("ALL", "ANY").index(modifiers[0])
    return "VOTE"


def _redux(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    code.fill(record, code.sort(texts, True))
    names = ["ADD" if each == "SUM" else each for each in modifiers] or ["AND"]
    record["mode"] = REDUCTIONS.index(names[0]) | ("S32" in modifiers) << 4
    return "REDUCE"


def _match(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if modifiers != ["ANY"]:
        raise UnknownError("such a match")
    code.fill(record, code.sort(texts, True))
    return "MATCH"


HANDLERS: dict[str, Handler] = {
    "S2R": _special,
    "S2UR": _special,
    "CS2R": _cs2r,
    "R2UR": simple("TO_UNIFORM"),
    "SHFL": _shfl,
    "VOTE": _vote,
    "VOTEU": _vote,
    "REDUX": _redux,
    "MATCH": _match,
}

MODIFIERS = {
    "SHFL": {*_SHUFFLES},
    **dict.fromkeys(("VOTE", "VOTEU"), {"ALL", "ANY"}),
    "REDUX": {"SUM", "MIN", "MAX", "AND", "OR", "XOR", "S32"},
    **dict.fromkeys(("S2R", "S2UR", "R2UR"), set()),
}

"""Instructions that say what is executed next, and where warps and lanes wait."""

from __future__ import annotations

import numpy as np

from bench.cuda_static_parts.machine.operands import (
    Handler,
    OperandDecoder,
    Operands,
    UnknownError,
)


def _bar(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    operands = code.sort(texts, False)
    number, *count = operands.sources
    record["offset"] = int(number, 0)
    for text in operands.inputs:
        record["inputs"][0] = code.predicate(text)
    record["target"] = int(count[0], 0) if count else 0
    kinds = {"SYNC": 0, "RED": 1, "ARV": 2}
    reductions = {"POPC": 0, "AND": 1, "OR": 2}
    record["mode"] = kinds[modifiers[0]] | reductions.get((modifiers[1:] or [""])[0], 0) << 4
    return "BARRIER"


def _b2r(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if modifiers != ["RESULT"]:
        raise UnknownError("such a register")
    code.fill(record, Operands(texts[0], texts[1:]))
    return "BARRIER_RESULT"


def _convergence(operation: str) -> Handler:
    def handle(
        code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]
    ) -> str:
        record["offset"] = int(texts[0].removeprefix("B"))
        return operation

    return handle


def _warpsync(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    if "ALL" in modifiers:
        record["operands"][0] = code.operand("0xffffffff")
    else:
        record["operands"][0] = code.operand(texts[0])
    return "SYNC_WARP"


def _bra(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    record["target"] = code.label(texts)
    if "DIV" in modifiers:
        record["operands"][0] = code.operand(texts[0].replace("~URZ", "0xffffffff"))
        return "BRANCH_DIVERGENT"
    text = texts[-1].partition("`")[0].strip()
    for condition in [*texts[:-1], *([text] if text else [])]:
        record["inputs"][0] = code.predicate(condition)
    return "BRANCH"


def _ret(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    record["operands"][0] = code.operand(texts[0].split()[0])
    return "RETURN"


def _exit(code: OperandDecoder, record: np.void, texts: list[str], modifiers: list[str]) -> str:
    for text in texts:
        record["inputs"][0] = code.predicate(text)
    return "EXIT"


HANDLERS: dict[str, Handler] = {
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

MODIFIERS = {
    "BAR": {"SYNC", "RED", "ARV", "AND", "OR", "POPC", "DEFER_BLOCKING"},
    "BRA": {"DIV", "U"},
    "CALL": {"REL", "NOINC"},
    "RET": {"REL", "NODEC"},
    "WARPSYNC": {"ALL", "COLLECTIVE"},
}

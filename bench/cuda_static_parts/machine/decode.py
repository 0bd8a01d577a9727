"""Machine code as the interpreter has it: an array of records, and a pool of operands that are the
same for all lanes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.cuda_static_parts.machine import accesses, control, integers, lanes, reals
from bench.cuda_static_parts.machine.operands import (
    Handler,
    OperandDecoder,
    UnknownError,
    Value,
)
from bench.cuda_static_parts.machine.records import INSTRUCTION, OPERATIONS, TRUE
from bench.cuda_static_parts.sass import Instruction

_NOTE = re.compile(r"\(\*.*?\*\)|\.reuse")
_IGNORED = {
    *("NOP", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "YIELD", "NANOSLEEP", "ENDCOLLECTIVE"),
    *("LDGDEPBAR", "DEPBAR", "ACQBULK", "PREEXIT"),
}
"""Instructions that change nothing here: copies come at once, memory is the same for all."""

_HANDLERS: dict[str, Handler] = {}
_MODIFIERS: dict[str, set[str]] = {}
"""Modifiers that are minded, or change nothing here: an instruction with others is not known."""
for _group in (integers, reals, lanes, accesses, control):
    _HANDLERS.update(_group.HANDLERS)
    _MODIFIERS.update(_group.MODIFIERS)


@dataclass
class Code:
    """Decoded instructions.

    instructions
        ``INSTRUCTION`` [n].
    rows
        registers of a warp: those of its threads, and from ``uniform`` on those that all share.
    pool
        operands that are not registers.
    unknown
        by number of an instruction, what there is no operation for.
    """

    instructions: np.ndarray
    rows: int
    uniform: int
    pool: list[Value]
    unknown: dict[int, str]


def decode(code: Sequence[Instruction]) -> Code:
    """Decodes a kernel; what is not known is an error only when it is executed."""
    operands = OperandDecoder(code)
    records = np.zeros(len(code), INSTRUCTION)
    records["outputs"] = records["inputs"]["predicate"] = records["guard"]["predicate"] = TRUE
    records["result"] = records["target"] = -1
    records["count"] = 1
    unknown = {}
    for at, (each, record) in enumerate(zip(code, records, strict=True)):
        try:
            if each.predicate:
                record["guard"] = operands.predicate(each.predicate)
            record["operation"] = OPERATIONS[_decode(operands, each, record)]
        except (UnknownError, ValueError, KeyError, IndexError) as error:
            unknown[at] = f"{each.opcode} {each.operands}: {error}"
            record["operation"] = OPERATIONS["UNKNOWN"]
    return Code(records, operands.rows, operands.uniform, operands.pool, unknown)


def _decode(operands: OperandDecoder, each: Instruction, record: np.void) -> str:
    texts = [text.strip() for text in _NOTE.sub("", each.operands).split(",")]
    name, *modifiers = each.opcode.split(".")
    if name in _IGNORED:
        return "NOTHING"
    if name not in _HANDLERS:
        name = name.removeprefix("U")  # the same, for all lanes at once
    handler = _HANDLERS.get(name)
    if handler is None or not {*modifiers} <= _MODIFIERS.get(name, {*modifiers}):
        raise UnknownError("not known")
    return handler(operands, record, [text for text in texts if text], modifiers)

"""Selects the operations of a bank that compute ``cmp`` nodes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gnarl.hw.sram_compute.operations import Operation
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, FLOAT32, ScalarType

OPERATION_NAMES = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "&": "and",
    "|": "or",
    "^": "xor",
    "min": "minimum",
    "max": "maximum",
    "neg": "negate",
    "abs": "absolute",
    "<": "less",
    "<=": "less_equal",
    "==": "equal",
    "!=": "not_equal",
    ">": "less",
    ">=": "less_equal",
}
"""Names of ``cmp`` nodes' functions; others have their function's name, or are steps of several."""
_SIGNLESS = (
    "add",
    "subtract",
    "multiply",
    "negate",
    "absolute",
    "equal",
    "not_equal",
    "and",
    "or",
    "xor",
)
_SEPARATE = (
    "multiply",
    "multiply_full",
    "divide",
    "floor_divide",
    "remainder",
    "less",
    "less_equal",
    "equal",
    "not_equal",
)
"""Operations whose result is none of their operands' rows."""


NEVER, SHORT, ALWAYS = range(3)
"""When a result may have an operand's rows; ``SHORT``: where no others are free."""


class UnsupportedError(Exception):
    """What no operation computes."""


@dataclass(frozen=True)
class Calculate:
    """A step that computes: ``operation`` at width ``n`` (0: none).

    a, b, e
        which operand of the function each base has; -1: none.
    may_replace
        when the result may have an operand's rows, see below.
    a_offset, result_offset
        the row within operand A or the result at which it begins.
    is_partial
        whether the result keeps its other rows.
    """

    operation: Operation
    n: int
    a: int = -1
    b: int = -1
    e: int = -1
    may_replace: int = ALWAYS
    a_offset: int = 0
    result_offset: int = 0
    is_partial: bool = False


def calculate(
    function: str,
    operands: Sequence[ScalarType],
    type: ScalarType,
    operations: Mapping[str, Operation],
) -> list[Calculate]:
    """Steps that compute a function of operands of such types. Raises ``UnsupportedError``.

    Integers are computed as signed where an operand is, with the result's width, and compared with
    that of the narrowest operand; of operands that are wider the low rows count. The product of
    operands of half as many bits has all of its bits.
    """
    operand = operands[-1]
    match function:
        case "select":
            return [Calculate(operations["select"], type.bits, 1, 2, 0)]
        case "and" | "or":
            return [Calculate(operations[function], 1, 0, 1)]
        case "not":
            return [Calculate(operations["invert"], 1, 0)]
        case "cast":
            return _cast(operand, type, operations)
    bases = (0, 1) if len(operands) > 1 else (0, -1)
    if function in (">", ">="):
        bases = 1, 0
    if operand == FLOAT32:
        name, width = f"{FLOAT32}.{OPERATION_NAMES.get(function, function)}", 0
    else:
        name, width = _of_integers(function, operands, type)
    if name not in operations or operand == BOOL or (function == "/" and operand != FLOAT32):
        raise UnsupportedError(f"{function} of {operand}")
    may_replace = ALWAYS
    if name == f"{FLOAT32}.multiply":
        may_replace = SHORT
    elif name.rpartition(".")[2].removesuffix("_unsigned") in _SEPARATE:
        may_replace = NEVER
    return [Calculate(operations[name], width, *bases, may_replace=may_replace)]


def _of_integers(
    function: str, operands: Sequence[ScalarType], type: ScalarType
) -> tuple[str, int]:
    """The name and the width of an operation on whole numbers."""
    name = OPERATION_NAMES.get(function, function)
    width = type.bits if type.is_integer else min(each.bits for each in operands)
    is_unsigned = all(each.kind == "u" for each in operands)
    if function == "*" and type.bits == 2 * max(each.bits for each in operands):
        name, width = "multiply_full", type.bits // 2
    if is_unsigned and name not in _SIGNLESS:
        name = f"{name}_unsigned"
    if is_unsigned and function == "abs":
        name = "move"
    return name, width


def shifted(
    function: str, type: ScalarType, places: int, operations: Mapping[str, Operation]
) -> list[Calculate]:
    """Steps of ``<<`` or ``>>`` by ``places``, at least 0 and below the type's bits."""
    kept = type.bits - places
    if not places:
        return [copied(kept, operations)]
    if function == "<<":
        move = replace(copied(kept, operations), result_offset=places)
        return [move, Calculate(operations["clear"], places, is_partial=True)]
    move = replace(copied(kept, operations), a_offset=places)
    return [move, _extended(type, type.bits, kept, operations)]


def copied(bits: int, operations: Mapping[str, Operation]) -> Calculate:
    """The step that copies ``bits`` rows of a value."""
    return Calculate(operations["move"], bits, 0, may_replace=NEVER)


def _cast(
    given: ScalarType, type: ScalarType, operations: Mapping[str, Operation]
) -> list[Calculate]:
    if given == type or (given.is_integer and type.is_integer and type.bits <= given.bits):
        return [copied(type.bits, operations)]
    if given.is_integer and type.is_integer:
        high = _extended(given, type.bits, given.bits, operations)
        return [copied(given.bits, operations), high]
    if type == FLOAT32 and given.is_integer:
        sign = "uint" if given.kind == "u" else "int"
        named = operations[f"{FLOAT32}.from_{sign}{given.bits}"]
        return [Calculate(named, 0, 0, may_replace=NEVER)]
    raise UnsupportedError(f"{given} to {type}")


def _extended(
    given: ScalarType, bits: int, begin: int, operations: Mapping[str, Operation]
) -> Calculate:
    """The step that makes the result's rows from ``begin`` to ``bits`` the operand's sign, or 0."""
    rest = bits - begin
    if given.kind == "u":
        return Calculate(operations["clear"], rest, result_offset=begin, is_partial=True)
    return Calculate(
        operations["fill"],
        rest,
        0,
        may_replace=NEVER,
        a_offset=given.bits - 1,
        result_offset=begin,
        is_partial=True,
    )


def bits_of(value: float, type: ScalarType) -> int:
    """The bits of a constant, the lowest first."""
    if type == FLOAT32:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    return int(value) & (1 << type.bits) - 1

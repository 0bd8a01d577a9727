"""Which operations of a bank compute what ``cmp`` nodes compute."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from hw.sram_compute.operations import Operation
from sw.compiler.sram_compute.lower.steps import Calculate, Step, Value
from sw.workloads.loops.scalar_type import BOOL, FLOAT32, ScalarType

_NAMES = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
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
_SIGNLESS = ("add", "subtract", "multiply", "negate", "absolute", "equal", "not_equal")
_SEPARATE = ("multiply", "divide", "less", "less_equal", "equal", "not_equal")
"""Operations whose result is none of their operands' rows."""


class UnsupportedError(Exception):
    """What no operation computes."""


def calculate(
    function: str,
    operands: Sequence[tuple[Value, ScalarType]],
    result: Value,
    type: ScalarType,
    operations: Mapping[str, Operation],
) -> list[Step]:
    """Steps that compute a function. Raises ``UnsupportedError``."""
    values = [value for value, _ in operands]
    given = operands[-1][1]
    match function:
        case "select":
            condition, chosen, other = values
            named = operations["select"]
            return [Calculate(named, type.bits, result, chosen, other, condition)]
        case "and" | "or":
            return [Calculate(operations[function], 1, result, values[0], values[1])]
        case "not":
            return [Calculate(operations["invert"], 1, result, values[0])]
        case "cast":
            return _cast(values[0], given, result, type, operations)
    name, width = _NAMES.get(function, function), given.bits
    if function in (">", ">="):
        values = values[::-1]
    if given == FLOAT32:
        name, width = f"{FLOAT32}.{name}", 0
    else:
        if given.kind == "u" and name not in _SIGNLESS:
            name = f"{name}_unsigned"
        if given.kind == "u" and function == "abs":
            name = "move"
    if name not in operations or given == BOOL or (function == "/" and given != FLOAT32):
        raise UnsupportedError(f"{function} of {given}")
    may_replace = name.rpartition(".")[2].removesuffix("_unsigned") not in _SEPARATE
    second = values[1] if len(values) > 1 else None
    return [Calculate(operations[name], width, result, values[0], second, may_replace=may_replace)]


def _cast(
    operand: Value,
    given: ScalarType,
    result: Value,
    type: ScalarType,
    operations: Mapping[str, Operation],
) -> list[Step]:
    if given == type or (given.is_integer and type.is_integer and type.bits <= given.bits):
        return [Calculate(operations["move"], type.bits, result, operand, may_replace=False)]
    if given.is_integer and type.is_integer:
        low = Calculate(operations["move"], given.bits, result, operand, may_replace=False)
        rest = type.bits - given.bits
        if given.kind == "u":
            high = Calculate(
                operations["clear"], rest, result, result_offset=given.bits, is_partial=True
            )
        else:
            high = Calculate(
                operations["fill"],
                rest,
                result,
                operand,
                may_replace=False,
                a_offset=given.bits - 1,
                result_offset=given.bits,
                is_partial=True,
            )
        return [low, high]
    if type == FLOAT32 and given.is_integer:
        sign = "uint" if given.kind == "u" else "int"
        named = operations[f"{FLOAT32}.from_{sign}{given.bits}"]
        return [Calculate(named, 0, result, operand, may_replace=False)]
    raise UnsupportedError(f"{given} to {type}")


def bits_of(value: float, type: ScalarType) -> int:
    """Of a constant, the lowest first."""
    if type == FLOAT32:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    return int(value) & (1 << type.bits) - 1

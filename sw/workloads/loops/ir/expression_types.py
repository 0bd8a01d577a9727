"""Checks the types of operators' operands."""

from __future__ import annotations

from typing import NoReturn

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.ir.nest import (
    INTEGER_ONLY,
    LOGICAL,
    SHIFTS,
    Binary,
    Cast,
    Expression,
    Select,
    Unary,
)
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, FLOAT32, ScalarType
from gnarl.sw.workloads.place import Location


def require_expression_types(expression: Expression) -> None:
    """Raises ``WorkloadError`` if an operator's operands, whose own types are right, are of types
    that it does not take."""
    match expression:
        case Unary(operator, operand, place):
            _unary(operator, operand.type, place)
        case Binary(operator, left, right, place):
            _binary(operator, left.type, right.type, place)
        case Select(condition, chosen, other, place):
            if condition.type != BOOL:
                _refuse(condition.place, f"a condition is {condition.type}: must be bool")
            if chosen.type != other.type:
                _refuse(place, f"chosen from {chosen.type} and {other.type}: must be of one type")
        case Cast(type, operand, place):
            if not (type.is_number and operand.type.is_number):
                _refuse(place, f"{operand.type} to {type}: must be from number to number")


def _unary(operator: str, type: ScalarType, place: Location) -> None:
    if operator == "not":
        if type != BOOL:
            _refuse(place, f"not {type}: must be bool")
    elif operator == "sqrt":
        if type != FLOAT32:
            _refuse(place, f"sqrt of {type}: must be float32")
    elif not type.is_number:
        _refuse(place, f"{operator} of {type}: must be a number")


def _binary(operator: str, left: ScalarType, right: ScalarType, place: Location) -> None:
    shown = f"{left} {operator} {right}"
    if operator in SHIFTS:
        if not (left.is_integer and right.is_integer):
            _refuse(place, f"{shown}: must be integers")
        return
    if left != right:
        _refuse(place, f"{shown}: must be of one type")
    if operator in LOGICAL:
        if left != BOOL:
            _refuse(place, f"{shown}: must be bool")
    elif operator in INTEGER_ONLY:
        if not left.is_integer:
            _refuse(place, f"{shown}: must be integers")
    elif operator == "/":
        if left != FLOAT32:
            _refuse(place, f"{shown}: must be float32, or // for integers")
    elif not left.is_number:
        _refuse(place, f"{shown}: must be numbers")


def _refuse(place: Location, text: str) -> NoReturn:
    raise WorkloadError(f"{place}: {text}")

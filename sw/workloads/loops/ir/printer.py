"""Prints nests in the Python notation."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gnarl.sw.workloads.loops.ir.names import spelled
from gnarl.sw.workloads.loops.ir.nest import (
    SHIFTS,
    Array,
    Assign,
    AugmentedStore,
    Binary,
    Cast,
    Constant,
    Expression,
    Fiber,
    For,
    If,
    Load,
    Merge,
    Nest,
    Scalar,
    Select,
    Statement,
    Store,
    Unary,
    Variable,
)
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.loops.ir.substitute import renamed

_INDENT = "    "

_CALLS = frozenset(("abs", "sqrt", "min", "max"))


def print_nest(nest: Nest) -> str:
    """The nest as ``python_source.read_printed`` reads it: the same nest, but for its places."""
    nest = renamed(nest, spelled)
    lines = []
    if nest.sizes:
        names = ", ".join(size.name for size in nest.sizes)
        lines += [f"{names} = sizes({', '.join(repr(size.name) for size in nest.sizes)})", "", ""]
    given = [each for each in nest.parameters if each.name not in nest.temporaries]
    own = [f"{_INDENT}{_parameter(nest.arrays[name])}" for name in nest.temporaries]
    parameters = ", ".join(map(_parameter, given))
    lines += ["@nest", f"def {nest.name}({parameters}):", *own, *_block(nest.body)]
    return "\n".join(lines) + "\n"


def print_expression(expression: Expression) -> str:
    """Prints an expression with parentheses around every operation inside another."""
    match expression:
        case Constant():
            return _constant(expression)
        case Variable():
            return expression.name
        case Load(array, indices):
            return _element(array, indices)
        case Cast(type, operand):
            return f"{type}({_cast_operand(operand)})"
        case Unary(operator, operand) if operator in _CALLS:
            return f"{operator}({print_expression(operand)})"
        case Unary("-", Constant() as operand):
            return f"-{operand.type}({_literal(operand)})"  # not the constant below zero
        case Unary(operator, operand):
            return f"{operator}{' ' * (operator == 'not')}{_inner(operand)}"
        case Binary(operator, left, right) if operator in _CALLS:
            return f"{operator}({print_expression(left)}, {print_expression(right)})"
        case Binary(operator, left, right) if operator in SHIFTS:
            return f"{_inner(left)} {operator} {_count(right, left.type)}"
        case Binary(operator, left, right):
            return f"{_inner(left)} {operator} {_inner(right)}"
        case Select(condition, chosen, other):
            return f"{_inner(chosen)} if {_inner(condition)} else {_inner(other)}"
    raise TypeError(expression)


def _parameter(parameter: Array | Scalar) -> str:
    if isinstance(parameter, Scalar):
        return f"{parameter.name}: {parameter.type}"
    return f"{parameter.name}: {parameter.type}[{_list(parameter.shape)}]"


def _block(body: Iterable[Statement]) -> list[str]:
    lines = [line for statement in body for line in _statement(statement)]
    return [_INDENT + line for line in lines or ["pass"]]


def _statement(statement: Statement) -> list[str]:
    match statement:
        case For(variable, lower, upper, step, body):
            bounds = [upper] if _is_zero(lower) and step == 1 else [lower, upper]
            steps = f", {step}" if step != 1 else ""
            return [f"for {variable} in range({_list(bounds)}{steps}):", *_block(body)]
        case Merge():
            return [_merge(statement), *_block(statement.body)]
        case Store(array, indices, value):
            return [f"{_element(array, indices)} = {print_expression(value)}"]
        case AugmentedStore(operator, array, indices, value):
            text = print_expression(value)
            if operator in SHIFTS and isinstance(value, Constant):
                text = _cast_operand(value)
            return [f"{_element(array, indices)} {operator}= {text}"]
        case Assign(name, value):
            return [f"{name} = {print_expression(value)}"]
        case If(condition, then, otherwise):
            head = [f"if {print_expression(condition)}:", *_block(then)]
            return [*head, "else:", *_block(otherwise)] if otherwise else head
    raise TypeError(statement)


def _merge(loop: Merge) -> str:
    targets = f"{loop.coordinate}, ({', '.join(loop.positions)})"
    if loop.present:
        targets += f", ({', '.join(loop.present)})"
    fibers = ", ".join(map(_fiber, loop.fibers))
    return f"for {targets} in {loop.kind}({fibers}):"


def _fiber(fiber: Fiber) -> str:
    return f"{fiber.array}[{print_expression(fiber.lower)} : {print_expression(fiber.upper)}]"


def _is_zero(expression: Expression) -> bool:
    return isinstance(expression, Constant) and expression.value == 0


def _element(array: str, indices: Iterable[Expression]) -> str:
    return f"{array}[{_list(indices)}]"


def _list(expressions: Iterable[Expression]) -> str:
    return ", ".join(map(print_expression, expressions))


def _inner(expression: Expression) -> str:
    """Prints an operand."""
    text = print_expression(expression)
    match expression:
        case Constant() if text.startswith("-"):
            return f"({text})"
        case Binary(operator) if operator not in _CALLS:
            return f"({text})"
        case Select():
            return f"({text})"
        case Unary("-" | "not"):
            return f"({text})"
    return text


def _cast_operand(operand: Expression) -> str:
    """A literal would take the type that it is converted to."""
    if isinstance(operand, Constant):
        return f"{operand.type}({_literal(operand)})"
    return print_expression(operand)


def _count(count: Expression, shifted: ScalarType) -> str:
    """A literal would take the type of what is shifted."""
    if isinstance(count, Constant) and count.type != shifted:
        return _cast_operand(count)
    return _inner(count)


def _constant(constant: Constant) -> str:
    if constant.type.is_integer and constant.type != INT32:
        return f"{constant.type}({_literal(constant)})"
    return _literal(constant)


def _literal(constant: Constant) -> str:
    return str(np.float32(constant.value)) if constant.type == FLOAT32 else str(constant.value)

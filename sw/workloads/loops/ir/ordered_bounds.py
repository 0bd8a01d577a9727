"""Loops between offsets, and loops of a length: their bounds must not decrease."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    For,
    If,
    Load,
    Merge,
    Nest,
    Select,
    Statement,
    Unary,
    Variable,
    statements,
)

_Values = dict[str, Expression]


@dataclass(frozen=True)
class Order:
    """A loop from an element of an array, or 0, to ``element``; or, if that is its ``is_length``,
    from a variable to itself plus ``element``."""

    element: Load
    is_length: bool


class OrderedBounds:
    """The loops of a nest whose bounds have an order. Locals stand for what was assigned to them
    before in the same body, or around it. O(statements x depth)."""

    def __init__(self, nest: Nest) -> None:
        self._found: dict[int, Order] = {}
        self._body(nest.body, {})

    def __getitem__(self, loop: For) -> Order | None:
        """The order of the bounds of one of the nest's own loops."""
        return self._found.get(id(loop))

    def _body(self, body: tuple[Statement, ...], values: _Values) -> None:
        for statement in body:
            match statement:
                case Assign(name, value):
                    values = _without(values, [name]) | {name: value}
                case For() | Merge():
                    values = _without(values, _assigned(statement.body))
                    if isinstance(statement, For) and (order := _order(statement, values)):
                        self._found[id(statement)] = order
                    self._body(statement.body, values)
                case If(_, then, otherwise):
                    self._body(then, values)
                    self._body(otherwise, values)
                    values = _without(values, _assigned((*then, *otherwise)))


def _assigned(body: tuple[Statement, ...]) -> list[str]:
    return [each.name for each in statements(body) if isinstance(each, Assign)]


def _without(values: _Values, names: Iterable[str]) -> _Values:
    """Values that are still right after assignments to ``names``."""
    gone = set(names)
    return {
        name: value
        for name, value in values.items()
        if name not in gone and not _variables(value) & gone
    }


def _variables(expression: Expression) -> set[str]:
    match expression:
        case Variable(name):
            return {name}
        case Load(_, indices):
            return set().union(*map(_variables, indices))
        case Binary(_, left, right):
            return _variables(left) | _variables(right)
        case Cast(_, operand) | Unary(_, operand):
            return _variables(operand)
        case Select(condition, chosen, other):
            return set().union(*map(_variables, (condition, chosen, other)))
    return set()


def _order(loop: For, values: _Values) -> Order | None:
    lower, upper = _plain(loop.lower), _value(loop.upper, values)
    first = _value(lower, values)
    if isinstance(upper, Load):
        is_zero = isinstance(first, Constant) and first.value == 0
        return Order(upper, False) if is_zero or isinstance(first, Load) else None
    if isinstance(upper, Binary) and upper.operator == BinaryOperator.ADD:
        for start, length in ((upper.left, upper.right), (upper.right, upper.left)):
            element = _value(length, values)
            if isinstance(lower, Variable) and _plain(start) == lower and isinstance(element, Load):
                return Order(element, True)
    return None


def _value(expression: Expression, values: _Values) -> Expression:
    """What a local stands for, without conversions."""
    plain = _plain(expression)
    while isinstance(plain, Variable) and plain.name in values:
        plain = _plain(values[plain.name])
    return plain


def _plain(expression: Expression) -> Expression:
    while isinstance(expression, Cast):
        expression = expression.operand
    return expression

"""Loops that go down, as loops that go up: their variable is a sum less the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gnarl.sw.workloads.loops.ir.index_expressions import add, integer
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    AugmentedStore,
    Binary,
    BinaryOperator,
    Constant,
    Expression,
    For,
    Load,
    Statement,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes, with_parts
from gnarl.sw.workloads.loops.ir.scalar_type import INT32
from gnarl.sw.workloads.place import Location


def total(left: Expression, right: Expression, place: Location) -> Expression:
    """The sum; of numbers it is a number, and n of n - 1 and 1."""
    match left, right:
        case Constant(one), Constant(other) if INT32.least <= one + other <= INT32.most:
            return Constant(int(one + other), INT32, place)
        case _, Constant(0):
            return left
        case Constant(0), _:
            return right
        case Binary("-", value, Constant(one)), Constant(other) if one == other:
            return value
    return add(left, right, place)


class Descent(NamedTuple):
    """A loop that goes down from ``first``, ``step`` with each iteration, while its variable is
    above ``end``, or ``is_included``, no less than it."""

    variable: str
    first: Expression
    end: Expression
    is_included: bool
    step: int
    body: tuple[Statement, ...]
    place: Location


def ascending(loop: Descent, fresh: Callable[[str], str]) -> tuple[Statement, ...]:
    """Statements that do the same with a loop that goes up, from the last number to the first one;
    or one less each, where one more than these is not known to be an int32.

    ``fresh`` makes names of locals. O(nodes).
    """
    before: list[Statement] = []
    changed = _changed(loop.body)

    def kept(bound: Expression) -> Expression:
        """A bound that is what it was before the first iteration."""
        if not any(_name(each) in changed for each in nodes(bound)):
            return bound
        local = fresh(f"{loop.variable}_bound")
        before.append(Assign(local, bound, bound.place))
        return Variable(local, INT32, bound.place)

    first, end = kept(loop.first), kept(loop.end)
    has_more = _has_more(first) and (loop.is_included or _has_more(end))
    more = int(has_more) - int(loop.is_included)
    last = total(end, integer(more, end.place), end.place)
    upper = total(first, integer(int(has_more), first.place), first.place)
    mirror = total(first, last, loop.place)

    def mirrored(part: Any) -> Any:
        if isinstance(part, Variable) and part.name == loop.variable:
            return Binary(BinaryOperator.SUBTRACT, mirror, part, part.place)
        return with_parts(part, mirrored)

    body = mirrored(loop.body)
    return (*before, For(loop.variable, last, upper, loop.step, body, loop.place))


def _has_more(value: Expression) -> bool:
    """Whether one more than a value is known to be an int32. What is not one is no bound."""
    match value:
        case Constant(number):
            return number < INT32.most
        case Binary("-", _, Constant(number)):
            return number > 0
    return False


def _changed(body: tuple[Statement, ...]) -> set[str]:
    """Locals and arrays that are assigned."""
    return {
        each.name if isinstance(each, Assign) else each.array
        for each in nodes(body)
        if isinstance(each, Assign | Store | AugmentedStore)
    }


def _name(node: Any) -> str | None:
    match node:
        case Variable(name):
            return name
        case Load(array):
            return array
    return None

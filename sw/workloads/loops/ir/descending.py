"""Loops that go down, as loops that go up: their variable is a sum less the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def descending(loop: For, fresh: Callable[[str], str]) -> tuple[Statement, ...]:
    """Statements that run a loop's body for ``loop.upper``, and with each iteration ``loop.step``
    less, as long as that is at least ``loop.lower``.

    ``loop.upper`` is below the largest int32. ``fresh`` makes names of locals. O(nodes).
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

    first, last = kept(loop.upper), kept(loop.lower)
    mirror = total(first, last, loop.place)

    def mirrored(part: Any) -> Any:
        if isinstance(part, Variable) and part.name == loop.variable:
            return Binary(BinaryOperator.SUBTRACT, mirror, part, part.place)
        return with_parts(part, mirrored)

    upper = total(first, integer(1, first.place), first.place)
    return (
        *before,
        For(loop.variable, last, upper, loop.step, mirrored(loop.body), loop.place),
    )


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

"""Loops that go down, as loops that go up where the order of iterations does not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gnarl.sw.compiler.sram_compute.tdfg.distribute import is_own, written_arrays
from gnarl.sw.workloads.loops.ir.index_expressions import integer, one_more
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    Binary,
    BinaryOperator,
    Expression,
    For,
    Merge,
    Statement,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes, with_parts


def turned(statement: Statement) -> Statement | None:
    """The same with loops turned around whose variable is nothing but taken from one number, as the
    readers make of loops that go down; ``None`` where there are none.

    Each iteration of such a loop has elements of its own of all arrays that it writes, and no
    locals. O(nodes x depth).
    """

    def changed(node: Any) -> Any:
        node = with_parts(node, changed)
        return _turned(node) if isinstance(node, For) else node

    new: Statement = changed(statement)
    return None if new == statement else new


def _turned(loop: For) -> For:
    name = loop.variable
    own = [each for each in nodes(loop.body) if _is_taken(each, name)]
    uses = sum(1 for each in nodes(loop.body) if _is_variable(each, name))
    if not own or uses != len(own) or any(each.left != own[0].left for each in own):
        return loop
    mirror = own[0].left
    used = {getattr(each, "array", getattr(each, "name", None)) for each in nodes(mirror)}
    is_simple = loop.step == 1 and name not in used and not used & written_arrays(loop.body)
    if not is_simple or any(isinstance(each, Assign | Merge) for each in nodes(loop.body)):
        return loop

    def changed(node: Any) -> Any:
        if _is_taken(node, name):
            return node.right
        return with_parts(node, changed)

    body: tuple[Statement, ...] = changed(loop.body)
    if not all(is_own(array, body, [name]) for array in written_arrays(body)):
        return loop

    def taken(bound: Expression) -> Expression:
        return Binary(BinaryOperator.SUBTRACT, mirror, bound, bound.place)

    last = Binary(BinaryOperator.SUBTRACT, loop.upper, integer(1, loop.place), loop.place)
    return replace(
        loop, lower=taken(last), upper=one_more(taken(loop.lower), loop.place), body=body
    )


def _is_taken(node: Any, name: str) -> bool:
    return (
        isinstance(node, Binary)
        and node.operator == BinaryOperator.SUBTRACT
        and _is_variable(node.right, name)
    )


def _is_variable(node: Any, name: str) -> bool:
    return isinstance(node, Variable) and node.name == name

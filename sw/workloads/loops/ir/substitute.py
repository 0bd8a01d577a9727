"""Expressions in place of variables, and other names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gnarl.sw.workloads.loops.ir.nest import Binary, Constant, Expression, Variable
from gnarl.sw.workloads.loops.ir.parts import with_parts
from gnarl.sw.workloads.loops.ir.scalar_type import INT32

Part = TypeVar("Part")


def substituted(part: Part, name: str, value: Expression) -> Part:
    """A node, or several, with ``value`` for the variable ``name``; sums and products of numbers of
    int32 that arise are numbers. O(nodes)."""

    def changed(node: Any) -> Any:
        if isinstance(node, Variable) and node.name == name:
            return value
        return folded(with_parts(node, changed))

    result: Part = changed(part)
    return result


def renamed(part: Part, name: Callable[[str], str]) -> Part:
    """A node, or several, with other names. O(nodes)."""

    def changed(node: Any) -> Any:
        return name(node) if type(node) is str else with_parts(node, changed)

    result: Part = changed(part)
    return result


def folded(node: Any) -> Any:
    """A sum, difference or product of two numbers of int32 as a number, if int32 has it."""
    match node:
        case Binary("+" | "-" | "*" as operator, Constant(left), Constant(right), place) if (
            node.type == INT32
        ):
            value = {"+": left + right, "-": left - right, "*": left * right}[str(operator)]
            if INT32.least <= value <= INT32.most:
                return Constant(int(value), INT32, place)
    return node

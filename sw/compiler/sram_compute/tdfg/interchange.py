"""Sums whose loops come first. Source: Infinity Stream, section 3.5: outer for inner products."""

from __future__ import annotations

from dataclasses import replace

from gnarl.sw.workloads.loops.ir.nest import AugmentedStore, For, Load, Statement, Variable
from gnarl.sw.workloads.loops.ir.parts import nodes


def interchanged(statement: Statement) -> For | None:
    """The same with the loops around the others whose variables are in no index of what is written;
    ``None`` where that is so already, or the loops hold more than one sum.

    Every element is added to in the same order. Bounds are of none of the loops.
    """
    loops: list[For] = []
    while isinstance(statement, For):
        loops.append(statement)
        if len(statement.body) != 1:
            return None
        statement = statement.body[0]
    if not isinstance(statement, AugmentedStore):
        return None
    read = {each.array for each in nodes((statement.value, statement.indices)) if _is_load(each)}
    variables = {loop.variable for loop in loops}
    bounds = tuple((loop.lower, loop.upper) for loop in loops)
    if statement.array in read or _names(bounds) & variables:
        return None
    written = _names(statement.indices)
    ordered = sorted(loops, key=lambda loop: loop.variable in written)
    if ordered == loops:
        return None
    nested: Statement = statement
    for loop in reversed(ordered):
        nested = replace(loop, body=(nested,))
    assert isinstance(nested, For)
    return nested


def _names(node: object) -> set[str]:
    return {each.name for each in nodes(node) if isinstance(each, Variable)}


def _is_load(node: object) -> bool:
    return isinstance(node, Load)

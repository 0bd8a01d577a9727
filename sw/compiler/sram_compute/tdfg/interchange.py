"""Sums whose loops come first. Source: Infinity Stream, section 3.5: outer for inner products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gnarl.sw.compiler.sram_compute.tdfg.distribute import is_own, written_arrays
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    AugmentedStore,
    For,
    Load,
    Merge,
    Statement,
    Variable,
)
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


def outermost_first(statement: Statement) -> Iterator[Statement]:
    """The same with each loop of a perfect nest as the outermost one in turn, the innermost first,
    where the order of iterations does not matter; the statement itself is the last.

    Each iteration has elements of its own of all arrays that are written, and locals that it
    assigns before it uses them. O(depth x nodes).
    """
    loops: list[For] = []
    body: tuple[Statement, ...] = (statement,)
    while len(body) == 1 and isinstance(body[0], For):
        loops.append(body[0])
        body = body[0].body
    variables = [loop.variable for loop in loops]
    bounds = tuple((loop.lower, loop.upper) for loop in loops)
    is_free = (
        not any(isinstance(each, Merge) for each in nodes(body))
        and not (_names(bounds) & {*variables} or any(_is_load(each) for each in nodes(bounds)))
        and _are_assigned_first(body)
        and all(is_own(array, body, variables) for array in written_arrays(body))
    )
    for loop in reversed(loops[1:] if is_free else ()):
        inner = body
        for other in reversed([each for each in loops if each is not loop]):
            inner = (replace(other, body=inner),)
        yield replace(loop, body=inner)
    yield statement


def _are_assigned_first(body: tuple[Statement, ...]) -> bool:
    """Whether each local is assigned before anything else mentions it."""
    assigned = {each.name for each in nodes(body) if isinstance(each, Assign)}
    for statement in body:
        new = {statement.name} if isinstance(statement, Assign) else set()
        mentioned = statement.value if isinstance(statement, Assign) else statement
        inner = {each.name for each in nodes(mentioned) if isinstance(each, Assign)}
        if (_names(mentioned) | inner) & assigned:
            return False
        assigned -= new
    return True


def _names(node: object) -> set[str]:
    return {each.name for each in nodes(node) if isinstance(each, Variable)}


def _is_load(node: object) -> bool:
    return isinstance(node, Load)

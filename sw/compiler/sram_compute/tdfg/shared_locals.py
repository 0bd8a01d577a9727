"""Statements that belong together, since a local goes from one to another."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.sw.workloads.loops.ir.nest import Assign, Statement, Variable
from gnarl.sw.workloads.loops.ir.parts import nodes


def sharing_locals(body: Sequence[Statement]) -> list[tuple[Statement, ...]]:
    """The statements of a body in groups of neighbours, as many as there can be so that no local is
    mentioned in two of them."""
    last: dict[str, int] = {}
    names = [assigned_and_used((each,)) for each in body]
    local = {name for assigned, _ in names for name in assigned}
    for number, (_, used) in enumerate(names):
        last |= dict.fromkeys(used & local, number)
    groups: list[tuple[Statement, ...]] = []
    first, end = 0, 0
    for number, (_, used) in enumerate(names):
        end = max(end, number, *(last[name] for name in used & local))
        if number == end:
            groups.append(tuple(body[first : end + 1]))
            first = end + 1
    return groups


def assigned_and_used(body: Sequence[Statement]) -> tuple[set[str], set[str]]:
    """Names that are assigned, and all that are mentioned."""
    found = [*nodes(tuple(body))]
    assigned = {each.name for each in found if isinstance(each, Assign)}
    return assigned, assigned | {each.name for each in found if isinstance(each, Variable)}

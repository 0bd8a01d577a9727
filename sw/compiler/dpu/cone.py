"""Cones: the operations that one PE tree, or an aligned part of it, executes in one instruction.

A cone has one root and at most ``depth`` levels. It is laid out as the tree is: place 1 is the
root, places ``2p`` and ``2p + 1`` hold the operands of place ``p``. An operation that two others in
the cone use is executed twice. Source: DPU-v2, section IV.A and figure 9(c).
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.compiler.dpu.state import NONE, VISITED, Graph, Locations, Scratch, Values
from gnarl.sw.program.jit import in_place, inner

EMPTY, OPERATION, LEAF = range(3)
NOT_READY, AWAY = -1, -2


@in_place
def expand(graph: Graph, values: Values, cone: Scratch, cycle: int, root: int, depth: int) -> int:
    """Lays out the cone of ``root`` from operands that can be read in ``cycle``.

    Fills ``cone.kind`` and ``cone.node``. The number of levels, or NOT_READY, or AWAY if all that
    keeps it from running is a value that is only in memory.
    """
    kind, node = cone.kind, cone.node
    kind[:] = EMPTY
    kind[1] = OPERATION
    node[1] = root
    bottom = 1 << depth
    deepest = 1
    away = False
    for place in range(1, bottom):
        if kind[place] != OPERATION:
            continue
        for side in range(2):
            value = graph.left[node[place]] if side == 0 else graph.right[node[place]]
            below = 2 * place + side
            deepest = below
            if value < graph.leaves:
                kind[below] = LEAF
                node[below] = value
                continue
            operation = value - graph.leaves
            if values.done[operation]:
                if values.location[value] == NONE:
                    if values.row[value] == NONE:
                        return NOT_READY
                    away = True
                elif values.ready[value] > cycle:
                    return NOT_READY
                kind[below] = LEAF
                node[below] = value
            elif below >= bottom:
                return NOT_READY
            else:
                kind[below] = OPERATION
                node[below] = operation
    if away:
        return AWAY
    return level_of(deepest)


@in_place
def level_of(place: int) -> int:
    """Levels between the root and ``place``."""
    level = 0
    while place > 1:
        place >>= 1
        level += 1
    return level


@in_place
def position(place: int, levels: int) -> tuple[int, int]:
    """The layer of the PE at a place of a cone with so many levels, and the first tree input below
    it, from the cone's first."""
    level = level_of(place)
    return levels - level, (place - (1 << level)) << (levels - level)


@in_place
def inner_uses(graph: Graph, cone: Scratch, places: int, operation: int) -> int:
    """How many different operations in the first places of the cone use an operation's result."""
    value = graph.leaves + operation
    count = 0
    for place in range(1, places):
        if cone.kind[place] != OPERATION or not is_first(cone, place):
            continue
        user = cone.node[place]
        if graph.left[user] == value or graph.right[user] == value:
            count += 1
    return count


@in_place
def is_first(cone: Scratch, place: int) -> bool:
    """Whether no earlier place holds the same thing."""
    kind, node = cone.kind, cone.node
    for before in range(1, place):
        if kind[before] == kind[place] and node[before] == node[place]:
            return False
    return True


@in_place
def neighbours(
    graph: Graph, values: Values, locations: Locations, cone: Scratch, value: int, row: np.ndarray
) -> None:
    """Counts in ``row`` int64 [banks] how many values each bank holds that are read together with
    ``value``, in the groups of at most four unscheduled users."""
    stack = cone.stack
    seen = 0
    row[:] = 0
    for k in range(graph.user_offsets[value], graph.user_offsets[value + 1]):
        user = graph.users[k]
        if values.done[user]:
            continue
        root = graph.group[user]
        top = 1
        stack[0] = root
        visited = 0
        while top > 0 and visited < VISITED:
            top -= 1
            visited += 1
            operation = stack[top]
            if values.done[operation]:
                continue
            for side in range(2):
                operand = graph.left[operation] if side == 0 else graph.right[operation]
                if operand < graph.leaves or operand == value:
                    continue
                location = values.location[operand]
                if location != NONE:
                    row[locations.bank[location]] += 1
                elif (
                    graph.group[operand - graph.leaves] == root
                    and not values.done[operand - graph.leaves]
                ):
                    stack[top] = operand - graph.leaves
                    top += 1
        seen += 1
        if seen == 4:
            break


@inner
def climb(
    graph: Graph, values: Values, cone: Scratch, cycle: int, start: int, depth: int, key: np.ndarray
) -> tuple[int, bool]:
    """Finds the largest cone over operation ``start`` that can run: ``(top, whole)``.

    Prefers cones whose root is a group's (``whole``). ``cone.path`` has the roots below it, lowest
    first, up to the cone's own at ``top``; NOT_READY or AWAY if not even that of ``start`` can run.
    """
    levels = expand(graph, values, cone, cycle, start, depth)
    if levels < 0:
        return levels, False
    root, top, whole = start, 0, -1
    cone.path[0] = start
    if graph.group[start] == start:
        whole = 0
    while levels < depth:
        value = graph.leaves + root
        best = -1
        first = graph.user_offsets[value]
        for k in range(first, min(first + 8, graph.user_offsets[value + 1])):
            user = graph.users[k]
            if values.done[user] or (best >= 0 and key[user] >= key[best]):
                continue
            height = expand(graph, values, cone, cycle, user, depth)
            if height > 0:
                best, levels = user, height
        if best < 0:
            break
        root = best
        top += 1
        cone.path[top] = root
        if graph.group[root] == root:
            whole = top
    return (top, False) if whole < 0 else (whole, True)

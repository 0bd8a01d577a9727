"""Cones: the operations that one PE tree, or an aligned part of it, executes in one instruction.

A cone has one root and at most ``depth`` levels. It is laid out as the tree is: place 1 is the
root, places ``2p`` and ``2p + 1`` hold the operands of place ``p``. An operation that two others in
the cone use is executed twice. Source: DPU-v2, section IV.A and figure 9(c).
"""

from __future__ import annotations

import numpy as np

from sw.compiler.dpu.jit import compiled
from sw.compiler.dpu.state import NONE

EMPTY, OPERATION, LEAF = range(3)
NOT_READY, AWAY = -1, -2


@compiled
def expand(graph, values, cycle, root, depth, kind, node):  # type: ignore[no-untyped-def]
    """Lays out the cone of ``root`` from operands that can be read in ``cycle``.

    Fills ``kind`` (EMPTY, OPERATION, LEAF) and ``node`` (operations, or values at leaves), both of
    size ``2**(depth + 1)``. The number of levels, or NOT_READY, or AWAY if all that keeps it from
    running is a value that stands in memory.
    """
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


@compiled
def level_of(place):  # type: ignore[no-untyped-def]
    """Levels between the root and ``place``."""
    level = 0
    while place > 1:
        place >>= 1
        level += 1
    return level


@compiled
def inner_uses(graph, kind, node, places, operation):  # type: ignore[no-untyped-def]
    """How many different operations of the cone use the result of ``operation``."""
    value = graph.leaves + operation
    count = 0
    for place in range(1, places):
        if kind[place] != OPERATION or not is_first(kind, node, place):
            continue
        user = node[place]
        if graph.left[user] == value or graph.right[user] == value:
            count += 1
    return count


@compiled
def is_first(kind, node, place):  # type: ignore[no-untyped-def]
    """Whether no earlier place holds the same thing."""
    for before in range(1, place):
        if kind[before] == kind[place] and node[before] == node[place]:
            return False
    return True


@compiled
def neighbours(graph, values, locations, value, weight):  # type: ignore[no-untyped-def]
    """Adds, for every bank, how many values it holds that are read together with ``value``.

    Looks through the groups of at most four unscheduled users. ``weight`` int64 [banks].
    """
    seen = 0
    stack = np.empty(64, np.int32)
    for k in range(graph.user_offsets[value], graph.user_offsets[value + 1]):
        user = graph.users[k]
        if values.done[user]:
            continue
        root = graph.group[user]
        top = 1
        stack[0] = root
        visited = 0
        while top > 0 and visited < 32:
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
                    weight[locations.bank[location]] += 1
                elif (
                    graph.group[operand - graph.leaves] == root
                    and not values.done[operand - graph.leaves]
                    and top < 62
                ):
                    stack[top] = operand - graph.leaves
                    top += 1
        seen += 1
        if seen == 4:
            break


@compiled
def climb(graph, values, scratch, cycle, operation, depth, key):  # type: ignore[no-untyped-def]
    """The largest cone over ``operation`` that can run: ``(root, levels, whole)``.

    Prefers cones whose root is a group's (``whole``). Leaves the cone in ``scratch`` and the roots
    below it in ``scratch.path``, lowest first.
    """
    kind, node = scratch.kind, scratch.node
    levels = expand(graph, values, cycle, operation, depth, kind, node)
    if levels < 0:
        return operation, levels, False
    root, height, top, whole = operation, levels, 0, -1
    scratch.path[0] = operation
    if graph.group[operation] == operation:
        whole = 0
    while height < depth:
        value = graph.leaves + root
        best = -1
        first = graph.user_offsets[value]
        for k in range(first, min(first + 8, graph.user_offsets[value + 1])):
            user = graph.users[k]
            if values.done[user] or (best >= 0 and key[user] >= key[best]):
                continue
            if expand(graph, values, cycle, user, depth, kind, node) > 0:
                best = user
        if best < 0:
            break
        root = best
        top += 1
        scratch.path[top] = root
        height = expand(graph, values, cycle, root, depth, kind, node)
        if graph.group[root] == root:
            whole = top
    if whole >= 0 and whole < top:
        top = whole
    root = scratch.path[top]
    levels = expand(graph, values, cycle, root, depth, kind, node)
    return top, levels, whole >= 0

"""Numbers the nodes of a graph so that operands come before their users, or finds a cycle."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import compiled


def numbering(offsets: np.ndarray, operands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A topological order, int64 [n], and the nodes of one cycle, int64 [c]; one of them is empty.

    offsets int64 [n + 1], operands int64 [m] as in ``Dag`` but in any order. Nodes that already
    come after all their operands keep their places; else the order is that of a depth-first search
    from node 0 on, operands left to right. The cycle runs along edges: each node is an operand of
    the next, the last one of the first. O(nodes + operands).
    """
    size = len(offsets) - 1
    if (operands < np.repeat(np.arange(size), np.diff(offsets))).all():
        return np.arange(size), np.zeros(0, np.int64)
    return _depth_first(offsets, operands)


@compiled
def _depth_first(offsets: np.ndarray, operands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = len(offsets) - 1
    order = np.empty(size, np.int64)
    done = 0
    next_operand = offsets[:-1].copy()
    state = np.zeros(size, np.uint8)  # 0 not seen, 1 on the stack, 2 numbered
    stack = np.empty(size, np.int64)
    for start in range(size):
        if state[start] != 0:
            continue
        stack[0] = start
        state[start] = 1
        depth = 1
        while depth > 0:
            node = stack[depth - 1]
            if next_operand[node] == offsets[node + 1]:
                state[node] = 2
                order[done] = node
                done += 1
                depth -= 1
                continue
            operand = operands[next_operand[node]]
            next_operand[node] += 1
            if state[operand] == 1:
                low = depth - 1
                while stack[low] != operand:
                    low -= 1
                # The stack leads from users to operands.
                return order[:0], stack[low:depth][::-1].copy()
            if state[operand] == 0:
                stack[depth] = operand
                state[operand] = 1
                depth += 1
    return order, stack[:0]

"""Simplifies DAGs before step 1: nodes that compute the same become one, and sums of sums become
one sum."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import compiled
from gnarl.sw.workloads.dag.dag import Dag, Op


def simplify(dag: Dag) -> Dag:
    """DAG → DAG with the same values at its outputs, in fewer and wider nodes.

        a = MUL(x, y), b = MUL(y, x)          →     a, and a in place of b
        ADD(u, ADD(v, w)), v + w used once    →     ADD(u, v, w)
        ADD(x)                                →     x

    All inputs and constants stay, in their order; of the other nodes, those that an output needs.
    ``outputs`` keeps its order and may then name a node twice. Without ``reassociate`` operands
    keep their order and nothing is flattened. O(operands · log(operands of a node)).
    """
    kept = np.arange(dag.size, dtype=np.int32)
    constants = np.flatnonzero(dag.op == Op.CONST)
    # Equal bits, so that 0 and -0 stay apart.
    _, first, which = np.unique(
        dag.constants[constants].view(np.int64), return_index=True, return_inverse=True
    )
    kept[constants] = constants[first[which]]
    offsets, operands, negative = _merge(
        dag.op, dag.offsets, dag.operands, dag.negative, kept, dag.reassociate
    )
    outputs = kept[dag.outputs]
    if dag.reassociate:
        offsets, operands, negative = _flatten(dag.op, offsets, operands, negative, outputs)
    needed = needed_nodes(offsets, operands, outputs) | (dag.op == Op.INPUT) | (dag.op == Op.CONST)
    number = np.cumsum(needed) - 1
    counts = np.diff(offsets)[needed]
    inside = np.repeat(needed, np.diff(offsets))
    return Dag(
        op=dag.op[needed],
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        operands=number[operands[inside]].astype(np.int32),
        negative=negative[inside],
        constants=dag.constants[needed],
        outputs=number[outputs],
        reassociate=dag.reassociate,
    )


@compiled
def _merge(
    op: np.ndarray,
    offsets: np.ndarray,
    operands: np.ndarray,
    negative: np.ndarray,
    kept: np.ndarray,
    any_order: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Operands by the nodes that are kept; ``kept`` says, for every node, which one replaces it.

    A node that another replaces has no operands left.
    """
    size = len(op)
    new_offsets = np.zeros(size + 1, np.int64)
    new_operands = np.empty(len(operands), np.int32)
    new_negative = np.empty(len(operands), np.bool_)
    slots = 16
    while slots < 2 * size:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    end = 0
    for node in range(size):
        count = offsets[node + 1] - offsets[node]
        if count == 1:
            kept[node] = kept[operands[offsets[node]]]
        elif count > 1:
            # Twice the operand, plus one where it is subtracted: sorts and hashes as one number.
            code = np.empty(count, np.int64)
            for k in range(count):
                place = offsets[node] + k
                code[k] = 2 * np.int64(kept[operands[place]]) + negative[place]
            if any_order:
                code.sort()
            slot = np.int64(op[node])
            for k in range(count):
                slot = (slot * 1000003 + code[k] * 40503) & 0xFFFFFFFFFFFF
            slot = (slot ^ (slot >> 17)) & (slots - 1)
            while table[slot] >= 0:
                other = table[slot]
                first = new_offsets[other]
                same = op[other] == op[node] and new_offsets[other + 1] - first == count
                for k in range(count if same else 0):
                    if 2 * new_operands[first + k] + new_negative[first + k] != code[k]:
                        same = False
                        break
                if same:
                    break
                slot = (slot + 1) & (slots - 1)
            if table[slot] >= 0:
                kept[node] = table[slot]
            else:
                table[slot] = node
                for k in range(count):
                    new_operands[end + k] = code[k] >> 1
                    new_negative[end + k] = code[k] & 1
                end += count
        new_offsets[node + 1] = end
    return new_offsets, new_operands[:end], new_negative[:end]


@compiled
def _flatten(
    op: np.ndarray,
    offsets: np.ndarray,
    operands: np.ndarray,
    negative: np.ndarray,
    outputs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Takes in the operands of operands of the same operation that nothing else uses."""
    size = len(op)
    needed = needed_nodes(offsets, operands, outputs)
    uses = use_counts(offsets, operands, outputs, needed)
    taken = np.zeros(size, np.bool_)
    for node in range(size):
        if needed[node]:
            for k in range(offsets[node], offsets[node + 1]):
                operand = operands[k]
                if uses[operand] == 1 and op[operand] == op[node] and op[operand] >= Op.ADD:
                    taken[operand] = True
    new_offsets = np.zeros(size + 1, np.int64)
    new_operands = np.empty(len(operands), np.int32)
    new_negative = np.empty(len(operands), np.bool_)
    stack = np.empty(len(operands) + 1, np.int64)
    end = 0
    for node in range(size):
        if needed[node] and not taken[node]:
            # Each entry is a place among the operands, doubled, plus its accumulated sign.
            top = 0
            for k in range(offsets[node + 1] - 1, offsets[node] - 1, -1):
                stack[top] = 2 * k
                top += 1
            while top > 0:
                top -= 1
                place, flip = stack[top] >> 1, stack[top] & 1
                operand = operands[place]
                sign = negative[place] != (flip == 1)
                if taken[operand]:
                    for k in range(offsets[operand + 1] - 1, offsets[operand] - 1, -1):
                        stack[top] = 2 * k + sign
                        top += 1
                else:
                    new_operands[end] = operand
                    new_negative[end] = sign
                    end += 1
        new_offsets[node + 1] = end
    return new_offsets, new_operands[:end], new_negative[:end]


@compiled
def needed_nodes(offsets: np.ndarray, operands: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """bool [nodes], whether an output needs the node."""
    needed = np.zeros(len(offsets) - 1, np.bool_)
    for node in outputs:
        needed[node] = True
    for node in range(len(needed) - 1, -1, -1):
        if needed[node]:
            for k in range(offsets[node], offsets[node + 1]):
                needed[operands[k]] = True
    return needed


@compiled
def use_counts(
    offsets: np.ndarray, operands: np.ndarray, outputs: np.ndarray, needed: np.ndarray
) -> np.ndarray:
    """int64 [nodes], how often needed nodes name each node as an operand, plus 2 for an output."""
    uses = np.zeros(len(needed), np.int64)
    for node in outputs:
        uses[node] += 2
    for node in range(len(needed)):
        if needed[node]:
            for k in range(offsets[node], offsets[node + 1]):
                uses[operands[k]] += 1
    return uses

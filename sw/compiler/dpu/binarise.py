"""Step 1a: from nodes of many operands to two-operand operations. Source: DPU-v2, section IV.A."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hw.dpu.config import DpuConfig
from hw.dpu.isa import PeOp
from sw.compiler.dpu.jit import compiled
from sw.compiler.dpu.simplify import needed_nodes
from sw.workloads.dag.dag import Dag, Op


@dataclass(frozen=True)
class BinaryDag:
    """Two-operand operations in evaluation order, over values.

    Values 0 … ``leaves - 1`` are the inputs, then the constants; value ``leaves + j`` is the result
    of operation ``j``.

    op
        uint8 [m], ``PeOp``: ADD, SUB, MUL, MAX or MIN.
    left, right
        int32 [m], values; both smaller than ``leaves + j``.
    group
        int32 [m], the operation at the root of the group that the operation was combined in: a
        tree of at most ``depth`` levels that one PE tree can execute.
    value_of
        int32 [nodes of the source DAG], the value of every node that an output needs; -1 elsewhere.
    outputs
        int32 [k], values of the source DAG's outputs, in its order.
    """

    leaves: int
    op: np.ndarray
    left: np.ndarray
    right: np.ndarray
    group: np.ndarray
    value_of: np.ndarray
    outputs: np.ndarray

    @property
    def operations(self) -> int:
        return len(self.op)


def binarise(
    dag: Dag, config: DpuConfig, arrival: np.ndarray | None = None, hurry: float = 0.0
) -> BinaryDag:
    """N-ary nodes → two-operand operations, in trees built by the arrival of their operands.

        ADD(a, b, c, d), d late     →     ADD(ADD(ADD(a, b), c), d)

    The operands of a node are combined earliest first, as many at a time as one PE tree takes, so
    that the latest enters last. A node whose only user is another such node is combined in that
    user's tree. With ``dag.reassociate`` false, operands are combined from left to right.

    Nodes that no output needs are left out; nodes of one operand become their operand.

    arrival
        float64 [nodes], the cycle at which each node's value is expected, for instance from an
        earlier schedule; ``None`` for the earliest possible.
    hurry
        cycles that a tree may finish earlier before it is worth two instructions: the last operand
        then enters alone. Infinity never splits, 0 always.

    O(operands · log(operands of a node)).
    """
    needed = needed_nodes(dag.offsets, dag.operands, dag.outputs)
    inputs = np.flatnonzero(dag.op == Op.INPUT)
    constants = np.flatnonzero(dag.op == Op.CONST)
    value_of = np.full(dag.size, -1, np.int32)
    value_of[inputs] = np.arange(len(inputs), dtype=np.int32)
    value_of[constants] = len(inputs) + np.arange(len(constants), dtype=np.int32)
    leaves = len(inputs) + len(constants)
    latency = np.array([config.layer_latency(k) for k in range(config.depth + 1)], np.float64)
    latency[0] = 0.0
    expected = np.full(dag.size, -1.0) if arrival is None else arrival.astype(np.float64)
    total = int(np.maximum(np.diff(dag.offsets) - 1, 0)[needed].sum())
    op, left, right, group = _combine(
        dag.op,
        dag.offsets,
        dag.operands,
        dag.negative,
        needed,
        value_of,
        leaves,
        config.depth,
        latency,
        expected,
        hurry,
        dag.reassociate,
        _single_use(dag.offsets, dag.operands, dag.outputs, needed, dag.size),
        total,
    )
    return BinaryDag(leaves, op, left, right, group, value_of, value_of[dag.outputs])


@compiled
def _single_use(offsets, operands, outputs, needed, size):  # type: ignore[no-untyped-def]
    uses = np.zeros(size, np.int64)
    for node in outputs:
        uses[node] += 2
    for node in range(size):
        if needed[node]:
            for k in range(offsets[node], offsets[node + 1]):
                uses[operands[k]] += 1
    return uses == 1


@compiled
def _combine(  # type: ignore[no-untyped-def]
    node_op,
    offsets,
    operands,
    negative,
    needed,
    value_of,
    leaves,
    depth,
    latency,
    expected,
    hurry,
    reassociate,
    single_use,
    total,
):
    op = np.empty(total, np.uint8)
    left = np.empty(total, np.int32)
    right = np.empty(total, np.int32)
    parent = np.full(total, -1, np.int32)
    # Of every value: levels of its unfinished tree (0: it stands in a register), when the operands
    # of that tree are there, and when the value would be if the tree ended here.
    levels = np.zeros(leaves + total, np.int64)
    start = np.zeros(leaves + total, np.float64)
    ready = np.zeros(leaves + total, np.float64)
    inner = np.zeros(leaves + total, np.bool_)
    count = 0
    capacity = 1 << depth
    for node in range(len(node_op)):
        first, last = offsets[node], offsets[node + 1]
        size = last - first
        if not needed[node] or size == 0:
            continue
        kind = node_op[node]
        item = np.empty(2 * size, np.int32)
        sign = np.empty(2 * size, np.bool_)
        level = np.empty(2 * size, np.int64)
        when = np.empty(2 * size, np.float64)
        for k in range(size):
            value = value_of[operands[first + k]]
            item[k] = value
            sign[k] = negative[first + k]
            if inner[value] and levels[value] < depth:
                level[k] = levels[value]
                when[k] = start[value]
            else:
                level[k] = 0
                when[k] = ready[value]
        if reassociate and size > 2:
            order = np.argsort(when[:size], kind="mergesort")
            item[:size] = item[:size][order]
            sign[:size] = sign[:size][order]
            level[:size] = level[:size][order]
            when[:size] = when[:size][order]
        # Items head … tail - 1 wait, earliest first; a finished group joins behind those before it.
        head, tail = 0, size
        while tail - head > 1:
            if not reassociate:
                taken = 2
                if max(level[head], level[head + 1]) >= depth:
                    _finish(item, level, when, ready, inner, head, 2)
            else:
                taken = _group_size(level, when, head, tail, capacity, latency, hurry)
                if taken == 1:
                    _finish(item, level, when, ready, inner, head, 2)
                    taken = 2
            while taken > 1:
                a, b = _pair(level, head, taken, capacity, reassociate)
                value = leaves + count
                inverted = sign[a] and sign[b]
                if kind == Op.ADD:
                    if sign[a] != sign[b]:
                        op[count] = PeOp.SUB
                    else:
                        op[count] = PeOp.ADD
                elif kind == Op.MUL:
                    op[count] = PeOp.MUL
                elif kind == Op.MAX:
                    op[count] = PeOp.MAX
                else:
                    op[count] = PeOp.MIN
                swap = sign[a] and not sign[b]
                left[count] = item[b] if swap else item[a]
                right[count] = item[a] if swap else item[b]
                for operand, operand_level in ((item[a], level[a]), (item[b], level[b])):
                    if operand_level > 0:
                        parent[operand - leaves] = count
                levels[value] = max(level[a], level[b]) + 1
                start[value] = max(when[a], when[b])
                ready[value] = start[value] + latency[levels[value]]
                count += 1
                # Put the result where b stood and close the gap that a leaves.
                item[b], sign[b] = value, inverted
                level[b], when[b] = levels[value], start[value]
                for k in range(a, head, -1):
                    item[k], sign[k] = item[k - 1], sign[k - 1]
                    level[k], when[k] = level[k - 1], when[k - 1]
                head += 1
                taken -= 1
            if tail - head > 1:
                if reassociate:
                    # The group is finished: a value in a register, sorted in by its arrival.
                    value, value_sign = item[head], sign[head]
                    arrived = ready[value]
                    k = head
                    while k + 1 < tail and when[k + 1] <= arrived:
                        item[k], sign[k] = item[k + 1], sign[k + 1]
                        level[k], when[k] = level[k + 1], when[k + 1]
                        k += 1
                    item[k], sign[k], level[k], when[k] = value, value_sign, 0, arrived
                else:
                    inner[item[head]] = True
        value = item[head]
        value_of[node] = value
        if value >= leaves and size == 1:
            # The node's users share the value of its operand.
            inner[value] &= single_use[node]
        elif value >= leaves:
            inner[value] = single_use[node]
            if expected[node] >= 0:
                late = expected[node] - ready[value]
                if late > 0:
                    ready[value] += late
                    start[value] += late
    group = np.empty(count, np.int32)
    for k in range(count - 1, -1, -1):
        group[k] = k if parent[k] < 0 else group[parent[k]]
    return op[:count], left[:count], right[:count], group


@compiled
def _finish(item, level, when, ready, inner, head, count):  # type: ignore[no-untyped-def]
    """Ends the trees of the first items: they are taken from registers."""
    for k in range(head, head + count):
        if level[k] > 0:
            level[k] = 0
            when[k] = ready[item[k]]
            inner[item[k]] = False


@compiled
def _group_size(level, when, head, tail, capacity, latency, hurry):  # type: ignore[no-untyped-def]
    """How many of the earliest items the next tree takes; 1 if not even two fit."""
    weight = 0
    for k in range(head, tail):
        weight += 1 << level[k]
    if weight > capacity:
        taken = 0
        weight = 0
        while weight + (1 << level[head + taken]) <= capacity:
            weight += 1 << level[head + taken]
            taken += 1
        return taken
    count = tail - head
    if count > 2:
        # All fit. Is it quicker to combine all but the last before the last arrives?
        together = when[tail - 1] + latency[_levels(weight)]
        others = weight - (1 << level[tail - 1])
        before = when[tail - 2] + latency[_levels(others)]
        apart = max(before, when[tail - 1]) + latency[level[tail - 1] + 1]
        if apart + hurry < together:
            return count - 1
    return count


@compiled
def _levels(weight):  # type: ignore[no-untyped-def]
    levels = 0
    while (1 << levels) < weight:
        levels += 1
    return levels


@compiled
def _pair(level, head, taken, capacity, reassociate):  # type: ignore[no-untyped-def]
    """The two items to combine next: the earliest two, unless the rest would no longer fit."""
    if not reassociate or taken == 2:
        return head, head + 1
    weight = 0
    for k in range(head, head + taken):
        weight += 1 << level[k]
    merged = 1 << (max(level[head], level[head + 1]) + 1)
    fits = weight - (1 << level[head]) - (1 << level[head + 1]) + merged <= capacity
    if fits:
        return head, head + 1
    a, b = head, head + 1
    for k in range(head + 2, head + taken):
        if level[k] < level[b]:
            if level[a] > level[b]:
                a = b
            b = k
        elif level[k] < level[a]:
            a = b
            b = k
    if level[b] < level[a] and a > b:
        a, b = b, a
    return (a, b) if a < b else (b, a)

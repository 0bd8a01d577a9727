"""Step 1a: from nodes of many operands to two-operand operations. Source: DPU-v2, section IV.A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import PeOp
from gnarl.sw.compiler.dpu.simplify import needed_nodes, use_counts
from gnarl.sw.program.jit import compiled, in_place, inner, stage
from gnarl.sw.workloads.dag.dag import Dag, Op

# Plain numbers for compiled code.
_ADD, _SUB, _MUL = PeOp.ADD.value, PeOp.SUB.value, PeOp.MUL.value
_MAX, _MIN = PeOp.MAX.value, PeOp.MIN.value


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


def binarise(dag: Dag, config: DpuConfig, split_threshold: float = 0.0) -> BinaryDag:
    """N-ary nodes → two-operand operations, in trees built by the arrival of their operands.

        ADD(a, b, c, d), d late     →     ADD(ADD(ADD(a, b), c), d)

    The operands of a node are combined earliest first, as many at a time as one PE tree takes, so
    that the latest enters last. A node whose only user is another such node is combined in that
    user's tree. With ``dag.reassociate`` false, operands are combined from left to right.

    Nodes that no output needs are left out; nodes of one operand become their operand.

    split_threshold
        cycles beyond which an earlier end of a tree is worth two instructions: the last operand
        then enters alone. Infinity never splits, 0 splits for any gain.

    O(operands · log(operands of a node)).
    """
    needed = needed_nodes(dag.offsets, dag.operands, dag.outputs)
    single_use = use_counts(dag.offsets, dag.operands, dag.outputs, needed) == 1
    leaf = np.concatenate([np.flatnonzero(dag.op == Op.INPUT), np.flatnonzero(dag.op == Op.CONST)])
    leaves = len(leaf)
    value_of = np.full(dag.size, -1, np.int32)
    value_of[leaf] = np.arange(leaves, dtype=np.int32)
    latency = np.array([config.layer_latency(k) for k in range(config.depth + 1)], np.float64)
    latency[0] = 0.0
    operands = np.diff(dag.offsets)
    total = int(np.maximum(operands - 1, 0)[needed].sum())
    widest = int(operands.max(initial=0))
    nodes = _Nodes(dag.op, dag.offsets, dag.operands, dag.negative, needed, single_use)
    trees = _Trees(
        leaves,
        config.depth,
        latency,
        float(split_threshold),
        op=np.empty(total, np.uint8),
        left=np.empty(total, np.int32),
        right=np.empty(total, np.int32),
        parent=np.full(total, -1, np.int32),
        level=np.zeros(leaves + total, np.int64),
        start=np.zeros(leaves + total, np.float64),
        ready=np.zeros(leaves + total, np.float64),
        inner=np.zeros(leaves + total, np.bool_),
    )
    items = _Items(
        np.empty(widest, np.int32),
        np.empty(widest, np.bool_),
        np.empty(widest, np.int64),
        np.empty(widest, np.float64),
    )
    _combine(nodes, value_of, trees, items, dag.reassociate)
    group = _roots(trees.parent)
    outputs = value_of[dag.outputs]
    return BinaryDag(leaves, trees.op, trees.left, trees.right, group, value_of, outputs)


class _Nodes(NamedTuple):
    """The source DAG; of every node, whether an output needs it, and whether it has one user."""

    op: np.ndarray
    offsets: np.ndarray
    operands: np.ndarray
    negative: np.ndarray
    needed: np.ndarray
    single_use: np.ndarray


class _Trees(NamedTuple):
    """The operations so far, and what is known of values.

    latency
        float64 [depth + 1], cycles from issue to readable by layer; 0 of what is in a register.
    op, left, right, parent
        of every operation: see ``BinaryDag``; the operation that takes it in its PE tree, or -1.
    level
        of every value, the levels of its unfinished tree; 0 if it is in a register.
    start, ready
        the cycle from which all operands of that tree can be read, and the one from which the value
        could be if the tree ended here.
    inner
        whether its user may go on with its tree.
    """

    leaves: int
    depth: int
    latency: np.ndarray
    split_threshold: float
    op: np.ndarray
    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    level: np.ndarray
    start: np.ndarray
    ready: np.ndarray
    inner: np.ndarray


class _Items(NamedTuple):
    """The operands of one node that wait to be combined: the values, their signs, the levels of the
    trees that end in them, and when the operands of those can be read."""

    value: np.ndarray
    negative: np.ndarray
    level: np.ndarray
    when: np.ndarray


@in_place
def _combine(
    nodes: _Nodes, value_of: np.ndarray, trees: _Trees, items: _Items, reassociate: bool
) -> None:
    """Makes the operations of all nodes that are needed, and fills in ``value_of`` for them."""
    count = 0
    for node in range(len(nodes.op)):
        size = nodes.offsets[node + 1] - nodes.offsets[node]
        if not nodes.needed[node] or size == 0:
            continue
        _gather(nodes, node, value_of, trees, items)
        if reassociate:
            _earliest_first(items, size, nodes.op[node], trees, count)
        else:
            _left_to_right(items, size, nodes.op[node], trees, count)
        count += size - 1
        value = items.value[size - 1]
        value_of[node] = value
        if value >= trees.leaves:
            # A node of one operand has that operand's value, which others may use too.
            alone = size > 1 or trees.inner[value]
            trees.inner[value] = nodes.single_use[node] and alone


@stage
def _gather(nodes: _Nodes, node: int, value_of: np.ndarray, trees: _Trees, items: _Items) -> None:
    """Makes items of a node's operands. Trees go on that end in them and have a level to spare."""
    first = nodes.offsets[node]
    for k in range(nodes.offsets[node + 1] - first):
        value = value_of[nodes.operands[first + k]]
        goes_on = trees.inner[value] and trees.level[value] < trees.depth
        items.value[k] = value
        items.negative[k] = nodes.negative[first + k]
        items.level[k] = trees.level[value] if goes_on else 0
        items.when[k] = trees.start[value] if goes_on else trees.ready[value]


@stage
def _earliest_first(items: _Items, size: int, kind: int, trees: _Trees, count: int) -> None:
    """Combines items to the last of them, in groups that fit a PE tree.

    Items ``head`` to ``size - 1`` wait, earliest first; a finished group joins behind those before
    it. ``count`` operations are made already.
    """
    if size > 2:
        _sort(items, size)
    head = 0
    while size - head > 1:
        taken = _group_size(items, head, size, trees)
        if taken == 1:
            _finish(items, trees, head)
            taken = 2
        for left in range(taken, 1, -1):
            a, b = _pair(items.level, head, left, 1 << trees.depth)
            _operation(items, a, b, kind, trees, count + head)
            for k in range(a, head, -1):
                _copy(items, k - 1, k)
            head += 1
        if size - head > 1:
            _insert_finished(items, trees, head, size)


@stage
def _left_to_right(items: _Items, size: int, kind: int, trees: _Trees, count: int) -> None:
    """Combines items to the last of them, in their order, after ``count`` operations."""
    for head in range(size - 1):
        if max(items.level[head], items.level[head + 1]) >= trees.depth:
            _finish(items, trees, head)
        _operation(items, head, head + 1, kind, trees, count + head)
        trees.inner[items.value[head + 1]] = True


@inner
def _operation(items: _Items, a: int, b: int, kind: int, trees: _Trees, number: int) -> None:
    """Makes operation ``number`` of items ``a`` and ``b``; its result is item ``b`` from now on."""
    subtracts = items.negative[a] != items.negative[b]
    if kind == Op.ADD:
        trees.op[number] = _SUB if subtracts else _ADD
    elif kind == Op.MUL:
        trees.op[number] = _MUL
    else:
        trees.op[number] = _MAX if kind == Op.MAX else _MIN
    # a - b, -a + b = b - a; -a - b = -(a + b), whose sign is left to its user.
    swap = subtracts and items.negative[a]
    trees.left[number] = items.value[b if swap else a]
    trees.right[number] = items.value[a if swap else b]
    for k in (a, b):
        if items.level[k] > 0:
            trees.parent[items.value[k] - trees.leaves] = number
    value = trees.leaves + number
    trees.level[value] = max(items.level[a], items.level[b]) + 1
    trees.start[value] = max(items.when[a], items.when[b])
    trees.ready[value] = trees.start[value] + trees.latency[trees.level[value]]
    items.value[b] = value
    items.negative[b] = items.negative[a] and items.negative[b]
    items.level[b] = trees.level[value]
    items.when[b] = trees.start[value]


@inner
def _copy(items: _Items, source: int, target: int) -> None:
    items.value[target] = items.value[source]
    items.negative[target] = items.negative[source]
    items.level[target] = items.level[source]
    items.when[target] = items.when[source]


@compiled
def _sort(items: _Items, size: int) -> None:
    """Orders the items by arrival; equal ones keep their order."""
    order = np.argsort(items.when[:size], kind="mergesort")
    items.value[:size] = items.value[:size][order]
    items.negative[:size] = items.negative[:size][order]
    items.level[:size] = items.level[:size][order]
    items.when[:size] = items.when[:size][order]


@stage
def _insert_finished(items: _Items, trees: _Trees, head: int, size: int) -> None:
    """Ends the tree of the first item, a value in a register now, and sorts it in by arrival."""
    value, negative = items.value[head], items.negative[head]
    arrived = trees.ready[value]
    k = head
    while k + 1 < size and items.when[k + 1] <= arrived:
        _copy(items, k + 1, k)
        k += 1
    items.value[k], items.negative[k] = value, negative
    items.level[k], items.when[k] = 0, arrived


@inner
def _finish(items: _Items, trees: _Trees, head: int) -> None:
    """Ends the trees of the first two items: they are taken from registers."""
    for k in range(head, head + 2):
        if items.level[k] > 0:
            items.level[k] = 0
            items.when[k] = trees.ready[items.value[k]]
            trees.inner[items.value[k]] = False


@stage
def _group_size(items: _Items, head: int, size: int, trees: _Trees) -> int:
    """How many of the earliest items the next tree takes; 1 if not even two fit."""
    level, when, capacity = items.level, items.when, 1 << trees.depth
    weight = 0
    for k in range(head, size):
        weight += 1 << level[k]
    if weight > capacity:
        taken = 0
        weight = 0
        while weight + (1 << level[head + taken]) <= capacity:
            weight += 1 << level[head + taken]
            taken += 1
        return taken
    count = size - head
    if count > 2:
        # All fit. Is it quicker to combine all but the last before the last arrives?
        last = size - 1
        together = when[last] + trees.latency[_levels(weight)]
        before = when[last - 1] + trees.latency[_levels(weight - (1 << level[last]))]
        apart = max(before, when[last]) + trees.latency[level[last] + 1]
        if apart + trees.split_threshold < together:
            return count - 1
    return count


@inner
def _levels(weight: int) -> int:
    """Levels of a tree of so many inputs."""
    levels = 0
    while (1 << levels) < weight:
        levels += 1
    return levels


@stage
def _pair(level: np.ndarray, head: int, taken: int, capacity: int) -> tuple[int, int]:
    """The two items to combine next: the earliest two, unless the rest would no longer fit."""
    if taken == 2:
        return head, head + 1
    weight = 0
    for k in range(head, head + taken):
        weight += 1 << level[k]
    merged = 1 << (max(level[head], level[head + 1]) + 1)
    if weight - (1 << level[head]) - (1 << level[head + 1]) + merged <= capacity:
        return head, head + 1
    # The two of the fewest levels.
    a, b = head, head + 1
    for k in range(head + 2, head + taken):
        if level[k] < level[b]:
            if level[a] > level[b]:
                a = b
            b = k
        elif level[k] < level[a]:
            a = b
            b = k
    return min(a, b), max(a, b)


@compiled
def _roots(parent: np.ndarray) -> np.ndarray:
    """int32 [m], the operation at the root of each operation's group."""
    group = np.empty(len(parent), np.int32)
    for k in range(len(parent) - 1, -1, -1):
        group[k] = k if parent[k] < 0 else group[parent[k]]
    return group

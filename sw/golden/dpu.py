"""What a DAG of arithmetic operations means, whatever computes it."""

from __future__ import annotations

import numpy as np

from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.levels import Levels
from gnarl.sw.workloads.dag.dag import Dag, Op

_REDUCTIONS: dict[int, np.ufunc] = {
    Op.ADD: np.add,
    Op.MUL: np.multiply,
    Op.MAX: np.maximum,
    Op.MIN: np.minimum,
}


def evaluate(
    tree_op: np.ndarray,
    tree_left: np.ndarray,
    tree_right: np.ndarray,
    leaves: np.ndarray,
    format: str,
) -> np.ndarray:
    """Words (uint32 [leaves + m]) of all values of a binarised DAG, bit for bit.

    ``leaves`` are the words of inputs and constants, uint32 [leaves]; the ``m`` operations are
    ``PeOp`` numbers with the two values each takes, which come before it. Leaves stay as they are;
    every NaN that is computed is canonical. O(m log m), one NumPy step a level and operation.
    """
    first = len(leaves)
    operations = len(tree_op)
    offsets = np.concatenate([np.zeros(first, np.int64), 2 * np.arange(operations + 1)])
    operands = np.stack([tree_left, tree_right], axis=1).reshape(-1)
    kind = np.concatenate([np.zeros(first, np.uint8), tree_op])
    levels = Levels(offsets, operands, kind)
    unit = arithmetic(format)
    # Leaves have level 0, no other node has: they keep their numbers.
    numbers = unit.numbers(np.concatenate([leaves, np.zeros(operations, np.uint32)]))
    for group in levels:
        if group.first >= first:
            taken = numbers[levels.operands[group.offsets[0] : group.offsets[-1]]]
            numbers[group.first : group.last] = unit.apply(group.kind, taken[0::2], taken[1::2])
    words = unit.words(numbers)
    words[:first] = leaves
    return words[levels.number]


def reference(dag: Dag, inputs: np.ndarray) -> np.ndarray:
    """Values (float64 [n]) of all nodes of a DAG, given those of its inputs in their order.

    Every operation is one in float64, n-ary as given. O(n log n + operands), one NumPy step a
    level and operation.
    """
    levels = Levels(dag.offsets, dag.operands, dag.op)
    signs = np.where(dag.negative[levels.places], -1.0, 1.0)
    leaves = np.array(dag.constants, np.float64)
    leaves[dag.inputs] = inputs
    values = np.empty(dag.size)
    values[levels.number] = leaves
    with np.errstate(all="ignore"):
        for group in levels:
            if group.kind in _REDUCTIONS:
                places = slice(group.offsets[0], group.offsets[-1])
                taken = signs[places] * values[levels.operands[places]]
                starts = group.offsets[:-1] - group.offsets[0]
                result = _REDUCTIONS[group.kind].reduceat(taken, starts)
                values[group.first : group.last] = result
    return values[levels.number]

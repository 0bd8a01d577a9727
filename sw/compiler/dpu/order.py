"""What the scheduler goes by: how urgent an operation is, and its position in a walk of the DAG.

Source: DPU-v2, section IV.A uses the same depth-first order to keep related nodes together.
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.sw.compiler.dpu.binarise import BinaryDag
from gnarl.sw.program.jit import compiled


def users(binary: BinaryDag) -> tuple[np.ndarray, np.ndarray]:
    """For every value, the operations that use it, each once: ``(offsets int64, users int32)``."""
    values = binary.leaves + binary.operations
    operation = np.arange(binary.operations, dtype=np.int32)
    twice = binary.left != binary.right
    value = np.concatenate([binary.left, binary.right[twice]])
    user = np.concatenate([operation, operation[twice]])
    order = np.argsort(value, kind="stable")
    offsets = np.zeros(values + 1, np.int64)
    np.cumsum(np.bincount(value, minlength=values), out=offsets[1:])
    return offsets, user[order]


def height(binary: BinaryDag, config: DpuConfig) -> np.ndarray:
    """float64 [operations]: cycles from an operation's issue to the end of its longest path.

    A path goes through a whole group in one instruction. O(operations).
    """
    latency = np.array([config.layer_latency(k) for k in range(config.depth + 2)], np.float64)
    return _height(binary.leaves, binary.left, binary.right, binary.group, latency)


@compiled
def _height(
    leaves: int, left: np.ndarray, right: np.ndarray, group: np.ndarray, latency: np.ndarray
) -> np.ndarray:
    count = len(left)
    # Levels of a group, and cycles from a value being in a register to the end.
    level = np.zeros(count, np.int64)
    for k in range(count):
        for operand in (left[k], right[k]):
            if operand >= leaves and group[operand - leaves] == group[k]:
                level[k] = max(level[k], level[operand - leaves])
        level[k] += 1
    after = np.zeros(count, np.float64)
    result = np.zeros(count, np.float64)
    for k in range(count - 1, -1, -1):
        root = group[k]
        result[k] = after[root] + latency[min(level[root], len(latency) - 1)]
        for operand in (left[k], right[k]):
            if operand >= leaves and group[operand - leaves] != root:
                after[operand - leaves] = max(after[operand - leaves], result[k])
    return result


def depth_first(binary: BinaryDag) -> np.ndarray:
    """int32 [operations]: place of each operation in a depth-first walk from the outputs.

    Operands come before their users; of two operands the one with more work below goes first.
    O(operations).
    """
    return _depth_first(binary.leaves, binary.left, binary.right, binary.outputs)


@compiled
def _depth_first(
    leaves: int, left: np.ndarray, right: np.ndarray, outputs: np.ndarray
) -> np.ndarray:
    count = len(left)
    place = np.full(count, -1, np.int32)
    work = np.zeros(count, np.float64)
    for k in range(count):
        work[k] = 1.0
        for operand in (left[k], right[k]):
            if operand >= leaves:
                work[k] += work[operand - leaves]
    stack = np.empty(2 * count + len(outputs) + 1, np.int32)
    done = 0
    for output in outputs:
        if output < leaves:
            continue
        stack[0] = output - leaves
        top = 1
        while top > 0:
            k = stack[top - 1]
            if place[k] >= 0:
                top -= 1
                continue
            first, second = left[k], right[k]
            if (
                second >= leaves
                and first >= leaves
                and work[second - leaves] > work[first - leaves]
            ):
                first, second = second, first
            if first >= leaves and place[first - leaves] < 0:
                stack[top] = first - leaves
                top += 1
            elif second >= leaves and place[second - leaves] < 0:
                stack[top] = second - leaves
                top += 1
            else:
                place[k] = done
                done += 1
                top -= 1
    return place

"""Cycles that no schedule can beat, whatever the banks."""

from __future__ import annotations

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.sw.compiler.dpu.simplify import needed_nodes
from gnarl.sw.program.jit import compiled
from gnarl.sw.workloads.dag.dag import Dag


def needed_operations(dag: Dag) -> int:
    """Two-operand operations that outputs need. O(nodes)."""
    needed = needed_nodes(dag.offsets, dag.operands, dag.outputs)
    return int(np.maximum(np.diff(dag.offsets)[needed] - 1, 0).sum())


def lower_bounds(dag: Dag, config: DpuConfig, inputs: int) -> dict[str, int]:
    """Lower bounds in cycles by name; ``lower_bound`` is the largest.

    bound_operations
        two-operand operations that outputs need over PEs.
    bound_inputs
        the ``inputs`` that are used over the words of a memory row.
    bound_critical_path
        the longest chain of dependent operations, with every node's operands combined in the best
        order, through PE trees one after the other.
    """
    levels = int(_levels(dag.offsets, dag.operands, dag.reassociate)[dag.outputs].max(initial=0))
    whole, rest = divmod(levels, config.depth)
    path = whole * config.layer_latency(config.depth)
    path += config.layer_latency(rest) if rest else 0
    operations = needed_operations(dag)
    bounds = {
        "bound_operations": -(-operations // config.pes),
        "bound_inputs": -(-inputs // config.banks),
        "bound_critical_path": path,
    }
    bounds["lower_bound"] = max(bounds.values())
    return bounds


@compiled
def _levels(offsets: np.ndarray, operands: np.ndarray, reassociate: bool) -> np.ndarray:
    """For every node, the least possible number of operations on a path from the inputs."""
    level = np.zeros(len(offsets) - 1, np.int64)
    for node in range(len(level)):
        first, last = offsets[node], offsets[node + 1]
        if last == first:
            continue
        if last - first == 1:
            level[node] = level[operands[first]]
            continue
        if not reassociate:
            reached = level[operands[first]]
            for k in range(first + 1, last):
                reached = max(reached, level[operands[k]]) + 1
            level[node] = reached
            continue
        below = np.empty(last - first, np.int64)
        for k in range(first, last):
            below[k - first] = level[operands[k]]
        below.sort()
        # Pairs of the same level meet one level up; a lone one goes up as it is.
        count, reached = 1, below[0]
        for k in range(1, len(below)):
            while reached < below[k] and count > 1:
                count = (count + 1) // 2
                reached += 1
            reached = max(reached, below[k])
            count += 1
        while count > 1:
            count = (count + 1) // 2
            reached += 1
        level[node] = reached
    return level

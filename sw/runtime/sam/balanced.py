"""Coordinates of a loop that is dealt to lanes in turn, counted anew so that lanes have as much to
do as each other.

What a coordinate of an index is called does not matter where nothing is reduced over it: operands
that have the index are stored with other numbers, and what is written gets its own back. Those with
the most products come first, and each turn of the lanes goes the other way than the one before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.sections import graph_of, kernel_of
from gnarl.sw.compiler.sam.streams import lane_of, trace
from gnarl.sw.runtime.sam.estimate.positions import coordinates_of
from gnarl.sw.runtime.sam.estimate.work import Positions, work
from gnarl.sw.runtime.sam.image import Operands
from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.einsum.program import reductions
from gnarl.sw.workloads.tensor.expression import stored_indices


def balanced(operands: Operands) -> Operands:
    """The operands with coordinates counted anew, if the launch deals its outermost loop in turn,
    and nothing depends on how they are counted. O(positions)."""
    dealt = dealt_index(graph_of(operands.launch.sections))
    index = dealt[0] if dealt else ""
    lanes = renumbered_lanes(operands, index)
    if not lanes:
        return operands
    words = operands.blocks.get(index, 1)
    weights = _weights(operands, index)
    if weights.min() == weights.max():
        return operands
    order = in_turns(weights, lanes)
    whole = (order[:, np.newaxis] * words + np.arange(words)).reshape(-1)
    return replace(operands, renumbered={index: whole})


def renumbered_lanes(operands: Operands, index: str) -> int:
    """To how many lanes coordinates of an index are dealt that may be counted anew; 0: they are
    not, or may not."""
    launch = operands.launch
    dealt = dealt_index(graph_of(launch.sections))
    if dealt is None or dealt[0] != index or operands.config.memory != "local":
        return 0
    size, words = operands.sizes[index], operands.blocks.get(index, 1)
    is_fitting = size % words == 0 and size // words > dealt[1]
    return dealt[1] if is_fitting and may_be_renumbered(kernel_of(launch.sections), index) else 0


def dealt_index(graph: Graph) -> tuple[str, int] | None:
    """The index whose loop, the outermost one, a graph deals in turn, and to how many lanes."""
    outermost = (loops[0] for loops in trace(graph).loops.values() if loops)
    found = [(fibers.index, lane_of(fibers)) for fibers in outermost]
    lanes = [(index, lane[1]) for index, lane in found if lane is not None]
    return max(lanes, key=lambda each: each[1], default=None)


def may_be_renumbered(kernel: Kernel, index: str) -> bool:
    """Whether nothing that a kernel computes depends on the order of an index: no statement reduces
    it, and every access of a tensor has it at the same dimension, or none has."""
    for statement in kernel.program.einsums:
        if any(index in each.indices for each in reductions(statement.expression)):
            return False
    places: dict[str, tuple[int, ...]] = {}
    for access in (*kernel.operands, *kernel.results):
        own = tuple(mode for mode, each in enumerate(access.indices) if each == index)
        if len(own) > 1 or places.setdefault(access.tensor, own) != own:
            return False
    return True


def in_turns(weights: np.ndarray, lanes: int) -> np.ndarray:
    """Coordinates in the order in which they are dealt, int64 [n]: the heaviest first, as they are
    where they weigh the same, and every other turn of the lanes backwards."""
    order = np.argsort(-weights, kind="stable")
    whole = len(order) // lanes * lanes
    turns = order[:whole].reshape(-1, lanes)
    turns[1::2] = turns[1::2, ::-1]
    return np.concatenate([turns.reshape(-1), order[whole:]])


def _weights(operands: Operands, index: str) -> np.ndarray:
    """Products of each coordinate of the loop over an index, float64."""
    kernel = kernel_of(operands.launch.sections)
    positions = []
    for access in kernel.operands:
        stored, format = operands.storages[access.tensor], kernel.formats[access.tensor]
        own = coordinates_of(stored, len(stored.levels))
        positions.append(Positions(stored_indices(access, format), own))
    sizes = {each: operands.loop_size(each) for each in operands.sizes}
    return work(positions, index, sizes)

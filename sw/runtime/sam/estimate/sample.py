"""A launch of which only some rows are run: those of some coordinates of an index of its results.

Nothing that such an index is in is summed over it, so what the launch computes for a coordinate
does not depend on others. Whether a zero is an entry may, where loops around the index are walked
for any of its coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gnarl.hw.sam.graph import Block, Graph
from gnarl.sw.compiler.sam.agreement import walked_levels
from gnarl.sw.compiler.sam.sections import graph_of, kernel_of
from gnarl.sw.runtime.sam.image import Operands
from gnarl.sw.workloads.einsum.program import reductions
from gnarl.sw.workloads.entries_order import ascending_order
from gnarl.sw.workloads.tensor.storage import Storage
from gnarl.sw.workloads.tensor.tensor import Tensor


@dataclass(frozen=True)
class Walk:
    """How a graph reads an operand: the blocks of its levels, outermost first, and their
    indices."""

    tensor: str
    blocks: tuple[str, ...]
    indices: tuple[str, ...]


def walks(graph: Graph) -> list[Walk]:
    """Each way in which a graph reads an operand, once."""
    found: dict[Walk, None] = {}
    for block in graph.blocks:
        if block.type == "arrayvals" and block["tensor"].isidentifier():
            levels = walked_levels(graph, block)
            names = tuple(level.name for level in levels)
            indices = tuple(level["index"] for level in levels)
            found[Walk(block["tensor"], (*names, block.name), indices)] = None
    return list(found)


def sampled_index(operands: Operands, rows: int) -> str | None:
    """The outermost index with more than ``rows`` coordinates that a part of may be run; ``None``:
    there is none."""
    kernel = kernel_of(operands.launch.sections)
    summed = {
        index
        for statement in kernel.program.einsums
        for each in reductions(statement.expression)
        for index in each.indices
    }
    sizes = operands.sizes
    if not any(all(sizes[index] for index in result.indices) for result in kernel.results):
        return None  # nothing is read
    for index in kernel.order:
        if sizes[index] <= rows or index in summed or index in operands.blocks:
            continue
        if not all(index in result.indices for result in kernel.results):
            continue
        if all(each.indices.count(index) < 2 for each in (*kernel.operands, *kernel.results)):
            if _is_apart(operands, index):
                return index
    return None


def _is_apart(operands: Operands, index: str) -> bool:
    """Whether nothing is read for an operand with the index and for one without, or with it at
    another level. Blocks of a fabric that share a memory read a tensor at one place."""
    config = operands.config
    is_shared = config.memory != "local" and config.fabric is not None
    levels: dict[str, int | None] = {}
    for walk in walks(graph_of(operands.launch.sections)):
        level = walk.indices.index(index) if index in walk.indices else None
        readers = (walk.tensor,) if is_shared else walk.blocks
        if any(levels.setdefault(name, level) != level for name in readers):
            return False
    return True


@dataclass(frozen=True)
class SampledOperands(Operands):
    """A launch's operands with ``rows`` of ``index`` only, counted anew in their order.

    whole
        what they are a part of.
    """

    index: str
    rows: np.ndarray
    whole: Operands

    @classmethod
    def of(cls, whole: Operands, index: str, rows: np.ndarray) -> SampledOperands:
        sizes = {**whole.sizes, index: len(rows)}
        return cls(whole.launch, whole.tensors, sizes, index, rows, whole)

    @property
    def storages(self) -> Mapping[str, Storage]:  # type: ignore[override]
        return self.whole.storages

    def read_by(self, block: Block) -> Storage:
        return self._parts.get(block.name) or self.storages[block["tensor"]]

    @cached_property
    def _parts(self) -> dict[str, Storage]:
        """What blocks read of operands with the index."""
        kernel, found = kernel_of(self.launch.sections), dict[str, Storage]()
        stored: dict[tuple[str, int], Storage] = {}
        for walk in walks(graph_of(self.launch.sections)):
            if self.index in walk.indices:
                format = kernel.formats[walk.tensor]
                mode = format.modes[walk.indices.index(self.index)]
                if (walk.tensor, mode) not in stored:
                    part = part_of(self.tensors[walk.tensor], mode, self.rows)
                    stored[walk.tensor, mode] = self.whole.stored_as(walk.tensor, part)
                found |= dict.fromkeys(walk.blocks, stored[walk.tensor, mode])
        return found


def part_of(tensor: Tensor, mode: int, rows: np.ndarray) -> Tensor:
    """The tensor's ``rows`` of a mode, counted anew in their order. O(nnz log nnz)."""
    place = np.full(tensor.shape[mode], -1)
    place[rows] = np.arange(len(rows))
    at = place[tensor.coordinates[:, mode]]
    kept = at >= 0
    coordinates = tensor.coordinates[kept]
    coordinates[:, mode] = at[kept]
    shape = tuple(len(rows) if each == mode else size for each, size in enumerate(tensor.shape))
    order = ascending_order(coordinates)
    return Tensor(shape, coordinates[order], tensor.values[kept][order])


def spread(part: Tensor, mode: int, donors: np.ndarray) -> Tensor:
    """A tensor whose row r of a mode is row ``donors[r]`` of ``part``. O(nnz)."""
    order = np.argsort(part.coordinates[:, mode], kind="stable")
    begins = np.searchsorted(part.coordinates[order, mode], np.arange(part.shape[mode] + 1))
    lengths = np.diff(begins)[donors]
    rows = np.repeat(np.arange(len(donors)), lengths)
    before = np.cumsum(lengths) - lengths
    taken = order[begins[donors].repeat(lengths) + np.arange(len(rows)) - before.repeat(lengths)]
    coordinates = part.coordinates[taken]
    coordinates[:, mode] = rows
    ascending = np.lexsort(coordinates.T[::-1])
    shape = tuple(len(donors) if each == mode else size for each, size in enumerate(part.shape))
    return Tensor(shape, coordinates[ascending], part.values[taken][ascending])

"""Sparse tensors of a graph: the arrays of its nest that they lie in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gnarl.sw.workloads.loops.expressions.program_arrays import Layout
from gnarl.sw.workloads.loops.pytorch.values import View
from gnarl.sw.workloads.tensor.storage import TensorFormat


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """``arrays``: those of the layout, by name."""

    shape: tuple[int, ...]
    format: TensorFormat
    layout: Layout
    arrays: Mapping[str, View]

    def permuted(self, order: Sequence[int]) -> SparseMatrix:
        """The matrix whose dimension d is dimension ``order[d]``."""
        modes = tuple(order.index(mode) for mode in self.format.modes)
        coordinates = {order.index(mode): each for mode, each in self.layout.coordinates.items()}
        return SparseMatrix(
            tuple(self.shape[d] for d in order),
            TensorFormat(self.format.levels, modes),
            replace(self.layout, coordinates=coordinates),
            self.arrays,
        )

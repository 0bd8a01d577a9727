"""What the SAM compiler takes: a statement or a graph, and operands."""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.hw.sam.graph import Graph
from gnarl.sw.workloads.tensor.workload import TensorWorkload


@dataclass(frozen=True)
class SamWorkload(TensorWorkload):
    """A statement, maybe with a graph that computes it, and tensors for its operands.

    graph
        a graph that was given; ``None``: to be compiled from the statement.
    """

    graph: Graph | None = None

"""What the SAM compiler takes: a statement, a graph or a model, and operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gnarl.hw.sam.graph import Graph
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.tensor.operands import Operand
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.workload import TensorWorkload


@dataclass(frozen=True)
class SamWorkload(TensorWorkload):
    """A statement, maybe with a graph that computes it, and tensors for its operands.

    graph
        a graph that was given; ``None``: to be compiled from the statement.
    """

    graph: Graph | None = None


@dataclass(frozen=True)
class SamModel:
    """A model as an Einsum program.

    name
        what reports call it.
    shapes
        of all its tensors, by name.
    parameters
        inputs whose values a program keeps, by name.
    inputs
        values of all inputs, as far as they are there.
    names
        what users call tensors, by name: ``conv1.weight`` for ``conv1_weight``.
    """

    name: str
    program: EinsumProgram
    shapes: Mapping[str, tuple[int, ...]]
    parameters: Mapping[str, Tensor]
    inputs: Mapping[str, Operand]
    names: Mapping[str, str]

    def own_name(self, name: str) -> str:
        """The program's name of a tensor that users call so."""
        return next((own for own, user in self.names.items() if user == name), name)

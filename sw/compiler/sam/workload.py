"""What the SAM compiler takes: a statement, a graph or a model, and operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gnarl.sw.compiler.sam.plan import Plan
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.tensor.operands import Operand
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.workload import TensorWorkload


class SamWorkload(TensorWorkload):
    """A statement, which is to be compiled, and tensors for its operands."""


@dataclass(frozen=True)
class SamGraph:
    """A graph that was given, with what it computes, and tensors for its operands.

    name
        what reports call it.
    inputs
        operands by name; ``None``: they come later.
    """

    name: str
    plan: Plan
    inputs: Mapping[str, Operand] | None = None


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
    whole
        the program that it is a part of: what indices are called follows from that.
    """

    name: str
    program: EinsumProgram
    shapes: Mapping[str, tuple[int, ...]]
    parameters: Mapping[str, Tensor]
    inputs: Mapping[str, Operand]
    names: Mapping[str, str]
    whole: EinsumProgram | None = None

    def own_name(self, name: str) -> str:
        """The program's name of a tensor that users call so."""
        return next((own for own, user in self.names.items() if user == name), name)

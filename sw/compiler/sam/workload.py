"""What the SAM compiler takes: a statement, a graph or a model, and operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.plan import Plan
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
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


def model_of(program: EinsumProgram, operands: Mapping[str, Operand]) -> SamModel:
    """A program with operands. Raises ``WorkloadError`` for sizes that these do not tell."""
    given = {name: each.tensor.shape for name, each in operands.items()}
    if missing := [name for name in program.inputs if name not in given]:
        raise WorkloadError(
            f"{program.name}: tensor {missing[0]} is not given, and its sizes must be known: "
            "--tensor NAME=PATH gives it"
        )
    shapes = program_shapes(program, given).tensors
    return SamModel(program.name, program, shapes, {}, operands, {})


def as_model(workload: SamWorkload) -> SamModel:
    """A statement with operands as a program of one, for which there are schedules. Raises
    ``WorkloadError`` as ``model_of`` does, and for lanes and blocks, which schedules name."""
    statement = workload.statement
    for name, copies in (("parallelize", statement.lanes), ("block", statement.blocks)):
        for index, count in copies:
            raise WorkloadError(
                f"{workload.name}: -s={name}({index},{count}): schedules say so: must be left out"
            )
    return model_of(parse_program(workload.text, workload.name), workload.inputs or {})

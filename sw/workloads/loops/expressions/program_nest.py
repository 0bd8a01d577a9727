"""Einsum programs as loop nests: the loops of each statement one after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.program import EinsumProgram, reductions
from gnarl.sw.workloads.einsum.pure import inlined, pure
from gnarl.sw.workloads.einsum.pytorch.model import Model
from gnarl.sw.workloads.loops.expressions.dense_operands import with_dense_operands
from gnarl.sw.workloads.loops.expressions.program_arrays import layout, layouts, tensor_arrays
from gnarl.sw.workloads.loops.expressions.program_lowering import (
    ProgramLowering,
    ProgramNest,
    Shapes,
)
from gnarl.sw.workloads.loops.ir.names import name_problem
from gnarl.sw.workloads.loops.workload import LoopWorkload
from gnarl.sw.workloads.tensor.expression import GREATEST
from gnarl.sw.workloads.tensor.tensor import Tensor


def model_workload(model: Model) -> LoopWorkload:
    """The workload of a module: arrays are called as the module calls its parameters, inputs and
    results, with _ for dots. Raises ``WorkloadError``."""
    names = _nest_names(model)
    data = {names[name]: tensor for name, tensor in model.data.items()}
    results = {names[name]: shape for name, shape in model.result_shapes.items()}
    return program_workload(model.program.renamed(names), data, results)


def _nest_names(model: Model) -> dict[str, str]:
    """Names that nests may have, by those in the model's program: no tensor is called as an array
    that another one lies in."""
    program = model.program
    users = {name: model.names[name] for name in program.results}
    taken = {
        array
        for name in program.inputs
        if not (own := layout(_word(name), program.formats[name])).is_dense
        for array in (own.segments, *own.coordinates.values(), own.values)
    }

    def claim(wanted: str) -> str:
        name = _word(wanted)
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    order = [*program.inputs, *program.results, *(each.name for each in program.statements)]
    return {name: claim(users.get(name, name)) for name in dict.fromkeys(order)}


def _word(wanted: str) -> str:
    name = re.sub(r"\W", "_", wanted, flags=re.ASCII)
    return f"t_{name}" if name_problem(name) else name


def program_workload(
    program: EinsumProgram, data: Mapping[str, Tensor], results: Shapes | None = None
) -> LoopWorkload:
    """The workload of a program and its inputs, in float32.

    data
        may also have tensors that are computed, for their shapes, see ``program_shapes``.
    results
        shapes of results as they are to be stored, which may have more dimensions of size 1; else
        as they are in the program.

    Raises ``WorkloadError``.
    """
    own = layouts(program)
    arrays: dict[str, np.ndarray] = {}
    for name in program.inputs:
        arrays |= tensor_arrays(name, data[name], program.formats[name], own[name])
    shapes = {name: tensor.shape for name, tensor in data.items()}
    sizes = {name: array.shape for name, array in arrays.items()}
    lowered = program_nest(program, shapes, sizes, results or {})
    inputs = {name: array for name, array in arrays.items() if name in lowered.nest.arrays}
    return LoopWorkload(program.name, lowered.nest, inputs, temporaries=lowered.temporaries)


def program_nest(
    program: EinsumProgram, shapes: Shapes, arrays: Shapes, results: Shapes
) -> ProgramNest:
    """The nest of a program, from the shapes of its tensors, of the arrays that inputs lie in, and
    of results, see ``program_workload``.

    Raises ``WorkloadError`` naming the line of a function that nests do not have, of a maximum of
    what is stored alone, or where elements are moved.
    """
    for each in program.rearrangements:
        raise WorkloadError(
            f"{each.place or program.name}: {each.name} is a {each.how.kind}, which nests of "
            "Einsum programs do not have: must be computed"
        )
    for statement in program.einsums:
        if any(each.op == GREATEST for each in reductions(statement.expression)):
            raise WorkloadError(
                f"{statement.place or program.name}: {statement.name} is the greatest of what is "
                "stored, as of a softmax with a mask, which nests of Einsum programs do not have: "
                "must be a max of all elements"
            )
    program = inlined(pure(program, shapes), shapes)
    return ProgramLowering(with_dense_operands(program), shapes, arrays, results).lowered()

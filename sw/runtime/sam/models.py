"""What a SAM program should compute: by its statement."""

from __future__ import annotations

from collections.abc import Mapping

from sw.compiler.sam.sections import statement_of
from sw.golden.sam import evaluate
from sw.golden.sam import reference as reference_values
from sw.program.program import Program
from sw.program.tensor_spec import Array, Dense
from sw.runtime.sam.image import operands, result_array
from sw.workloads.tensor.tensor import Tensor


def golden(program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
    """The bits that the result must have, but for signs of zeros."""
    (launch,) = program.launches
    found = operands(launch, tensors)
    statement, spec = statement_of(launch.sections), launch.outputs[0]
    entries = evaluate(statement, found.tensors, spec.type)
    return {spec.name: result_array(launch, found.sizes, *entries)}


def reference(program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
    """The result in float64."""
    (launch,) = program.launches
    found = operands(launch, tensors)
    spec = launch.outputs[0]
    coordinates, values = reference_values(statement_of(launch.sections), found.tensors)
    shape = tuple(found.sizes[str(index)] for index in spec.shape)
    tensor = Tensor(shape, coordinates, values)
    return {spec.name: tensor.to_dense() if isinstance(spec.storage, Dense) else tensor}

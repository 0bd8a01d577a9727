"""PyTorch modules as Einsum programs, with what goes in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.tensor.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Model:
    """A module's program.

    data
        the values of the program's inputs, by name: parameters, buffers and example inputs.
    shapes
        the shape of every tensor of the program, by name.
    names
        what users call inputs and results, by their names in the program: ``conv1.weight`` of
        ``conv1_weight``.
    parameters
        inputs of the program that are parameters, buffers or constants of the module.
    result_shapes
        the shapes of the module's results, by their names in the program. They differ from
        ``shapes`` in dimensions of size 1 alone, which the program may leave out.
    """

    program: EinsumProgram
    data: Mapping[str, Tensor]
    shapes: Mapping[str, tuple[int, ...]]
    names: Mapping[str, str]
    parameters: frozenset[str]
    result_shapes: Mapping[str, tuple[int, ...]]

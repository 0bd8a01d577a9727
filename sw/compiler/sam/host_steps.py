"""Statements that move elements, as what the host does between launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from gnarl.hw.lib.errors import ProgramError, WorkloadError, damaged_as
from gnarl.sw.program.host_step import HostStep
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.program_tensors import format_of

HOST_NUMBERS = "float64"
"""The type of inputs that no machine takes, see ``inputs_of_hosts``. They need not be finite."""


def host_step(statement: Rearrangement, specs: Mapping[str, TensorSpec]) -> HostStep:
    """The step that makes a statement's tensor. ``specs``: of all tensors by name."""
    names = dict.fromkeys(access.tensor for access in statement.operands)
    return HostStep(tuple(specs[name] for name in names), specs[statement.name], str(statement))


def statement_of(step: HostStep) -> Rearrangement:
    (statement,) = _parsed(step.text).rearrangements
    return statement


def step_program(step: HostStep) -> EinsumProgram:
    """The program of a step's statement, whose tensors are stored as they are handed over."""
    formats = {spec.name: format_of(spec) for spec in (*step.inputs, step.output)}
    return replace(_parsed(step.text), formats=formats)


def check_step(step: HostStep) -> None:
    """Raises ``ProgramError`` for a text that does not say what becomes of the step's tensors."""
    with damaged_as(ProgramError, "text"):
        try:
            program = _parsed(step.text)
            statements = [each.name for each in program.rearrangements]
            named = [*program.inputs, *(each.name for each in program.statements)]
            there = [spec.name for spec in (*step.inputs, step.output)]
            if named != there or statements != there[-1:]:
                raise ProgramError(
                    f"text is of {', '.join(named)}: must move {', '.join(there[:-1])} to "
                    f"{there[-1]}"
                )
            sizes = {spec.name: _known(spec) for spec in (*step.inputs, step.output)}
            program_shapes(program, sizes)
        except WorkloadError as error:
            raise ProgramError(f"text: {error}") from error


def _known(spec: TensorSpec) -> tuple[int, ...]:
    sizes = tuple(size for size in spec.shape if isinstance(size, int))
    if len(sizes) < len(spec.shape):
        raise ProgramError(f"tensor {spec.name} has sizes that runs choose: must have numbers")
    return sizes


@lru_cache(maxsize=256)
def _parsed(text: str) -> EinsumProgram:
    return parse_program(text)

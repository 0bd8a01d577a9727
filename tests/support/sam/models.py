"""Einsum programs compiled and run on the model, without a device around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.compile import compile
from gnarl.sw.compiler.sam.fuse.choices import FACTORED
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.compiler.sam.host_steps import step_program
from gnarl.sw.compiler.sam.sections import kernel_of
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.golden import einsum
from gnarl.sw.golden.words import from_words, to_words
from gnarl.sw.program.host_step import HostStep, with_made
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.sam.image import operands, outputs, result, result_rows
from gnarl.sw.runtime.sam.model.interpreter import interpret, machine_run, simulated
from gnarl.sw.runtime.sam.rearranged import moved
from gnarl.sw.runtime.sam.simulator.simulated_run import SimulatedRun
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.operands import Operand
from gnarl.sw.workloads.tensor.tensor import Tensor

CONFIG = SamConfig(array_words=1 << 20, accumulator_words=1 << 12)

_MOST_CYCLES = 10**6

_UNTIMED = SimulatedRun(0, {}, {}, {})
"""In place of how long a run takes, which costs more than the run."""


def _given(tensors: Mapping[str, Any]) -> dict[str, Tensor]:
    """Any numbers: masks have -∞."""
    return {name: Tensor.from_any(value, finite=False) for name, value in tensors.items()}


def model_of(program: EinsumProgram, tensors: Mapping[str, Tensor]) -> SamModel:
    """A model with these shapes, whose inputs are all given by runs."""
    given = {name: tensor.shape for name, tensor in tensors.items()}
    return SamModel("random", program, program_shapes(program, given).tensors, {}, {}, {})


def valued_model(program: EinsumProgram | str, tensors: Mapping[str, Any]) -> SamModel:
    """A model whose inputs have these values."""
    if isinstance(program, str):
        program = parse_program(program)
    given = _given(tensors)
    inputs = {name: Operand(tensor) for name, tensor in given.items()}
    return replace(model_of(program, given), inputs=inputs)


def compiled(
    program: EinsumProgram | str,
    tensors: Mapping[str, Any],
    regions: Sequence[Sequence[str] | Region] = (),
    iteration: str = FACTORED,
    config: SamConfig = CONFIG,
    copies: bool | None = None,
) -> Program:
    """The program of a model with these regions; without any, each statement has its own."""
    if isinstance(program, str):
        program = parse_program(program)
    each = [r if isinstance(r, Region) else Region(tuple(r), iteration=iteration) for r in regions]
    model = model_of(program, _given(tensors))
    schedule = Schedule(regions=tuple(each)) if each else None
    fuse = None if each else "none"
    return compile(model, config, schedule=schedule, fuse=fuse, copies=copies)


def words(
    coordinates: np.ndarray, numbers: np.ndarray, shape: tuple[int, ...], format: str = "float32"
) -> np.ndarray:
    """All words of a tensor; zeros have one sign only, as missing entries have none."""
    found = np.zeros((1, *shape), np.uint32)
    found[(np.zeros(len(numbers), np.int64), *coordinates.T)] = numbers
    found[from_words(found, format) == 0] = 0
    return found.reshape(shape)


@dataclass
class Run:
    """What the model makes of a program, and what its launches' kernels mean, as words by name."""

    got: dict[str, np.ndarray]
    meant: dict[str, np.ndarray]


def run(program: Program, tensors: Mapping[str, Any], is_timed: bool = False) -> Run:
    """Runs launches one after the other on the model; each is compared with its own kernel, and
    what the host makes between them with what that means.

    ``is_timed``: on the simulator, too, which raises for a deadlock.
    """
    known: dict[str, Array] = {
        name: Tensor.from_any(value, finite=False) for name, value in tensors.items()
    }
    done = Run({}, {})

    def make(step: HostStep, taken: Mapping[str, Array]) -> Array:
        name, made = step.output.name, moved(step, taken)
        given = {each: Tensor.from_result(array) for each, array in taken.items()}
        expected = einsum.evaluate(step_program(step), given, step.output.type)[name]
        entries = Tensor.from_result(made)
        found = entries.coordinates, to_words(entries.values, step.output.type)
        done.got[name], done.meant[name] = (
            words(*each, made.shape, step.output.type) for each in (found, expected)
        )
        return made

    known = with_made(program.steps, known, make)
    for launch in program.launches:
        own = operands(launch, {spec.name: known[spec.name] for spec in launch.inputs})
        config = SamConfig.from_dict(launch.config)
        _, model = interpret(config, own.image)
        timing = simulated(config, own.image, _MOST_CYCLES) if is_timed else _UNTIMED
        ran = machine_run(config, own.image, model, timing, partial(result_rows, launch))
        kernel = kernel_of(launch.sections)
        expected = einsum.evaluate(
            own.program, own.tensors, config.format, lanes=own.sum_lanes, blocks=own.blocks
        )
        known |= outputs(launch, own, ran.memory)
        for access in kernel.results:
            shape = tuple(own.sizes[index] for index in access.indices)
            name = access.tensor
            done.got[name] = words(*result(launch, own, ran.memory, name), shape, config.format)
            done.meant[name] = words(*expected[name], shape, config.format)
        known = with_made(program.steps, known, make)
    return done


def golden(
    program: EinsumProgram, tensors: Mapping[str, Any], format: str = "float32"
) -> dict[str, np.ndarray]:
    """What a program means, as words by name of its results."""
    given = _given(tensors)
    shapes = program_shapes(program, {name: each.shape for name, each in given.items()}).tensors
    found = einsum.evaluate(program, given, format)
    return {name: words(*found[name], shapes[name], format) for name in program.results}

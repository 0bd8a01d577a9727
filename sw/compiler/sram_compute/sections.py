"""What a program's file consists of: commands and instructions, or a nest and its graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION_WORDS, Instruction
from gnarl.hw.lib.encoding.execute_listing import listing as execute_listing
from gnarl.hw.lib.errors import CapacityError, ProgramError, damaged_as
from gnarl.hw.lib.lines.line_size import LINE_BYTES
from gnarl.hw.lib.text_lines import text_lines
from gnarl.hw.sram_compute.assembly import line_of
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import UNIT_WORDS
from gnarl.hw.sram_compute.program import disassemble
from gnarl.sw.compiler.sram_compute.fat_program import FatProgram, fat_program_of
from gnarl.sw.compiler.sram_compute.tdfg.text import text as graphs_text
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.schema import Schema, Section
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.workloads.loops.ir.nest import Array, Constant, Nest
from gnarl.sw.workloads.loops.ir.printer import print_expression, print_nest


def program_of(
    config: SramConfig,
    name: str,
    inputs: Iterable[tuple[TensorSpec, int]],
    outputs: Iterable[tuple[TensorSpec, int]],
    units: np.ndarray,
    instructions: np.ndarray | None = None,
    temporaries: Collection[str] = (),
) -> Program:
    """A program on arrays that each begin in a line of memory. ``temporaries``: outputs that it has
    for itself.

    ``units``: uint32 [units, words of a unit]; ``instructions`` of the core: uint32 [instructions,
    words of one]. Raises ``CapacityError``.
    """
    if instructions is None:
        instructions = np.zeros((0, INSTRUCTION_WORDS), np.uint32)
    inputs, outputs = tuple(inputs), tuple(outputs)
    needed = max((line + line_count(spec) for spec, line in (*inputs, *outputs)), default=0)
    if needed > config.memory_lines:
        raise CapacityError(
            f"{name}: memory_bytes = {config.memory_bytes}: must be at least "
            f"{1 << (needed * LINE_BYTES - 1).bit_length()}"
        )
    program = Program.of_one_launch(
        config,
        name,
        tuple(spec for spec, _ in inputs),
        tuple(spec for spec, _ in outputs),
        statistics={"core_words": len(instructions)} if len(instructions) else {},
        schema=SRAM_SCHEMA,
        sections={
            "commands": units,
            "lines": np.array([line for _, line in (*inputs, *outputs)], np.int64),
            "instructions": instructions,
            "graphs": np.zeros(0, np.uint8),
        },
    )
    program = replace(program, outputs=_without(program.outputs, temporaries))
    try:
        program.check()
    except ProgramError as error:
        raise CapacityError(f"{name}: {error}") from None
    return program


def _without(specs: tuple[TensorSpec, ...], temporaries: Collection[str]) -> tuple[TensorSpec, ...]:
    return tuple(spec for spec in specs if spec.name not in temporaries)


def fat_file(fat: FatProgram, name: str) -> Program:
    """A program for any sizes and configuration. Its inputs are scalars and the arrays that are not
    written; the others may be given, too, or begin as 0."""
    inputs, outputs = _open_specs(fat.nest)
    sections: dict[str, np.ndarray] = {
        "commands": np.zeros((0, UNIT_WORDS), np.uint32),
        "lines": np.zeros(0, np.int64),
        "instructions": np.zeros((0, INSTRUCTION_WORDS), np.uint32),
        "graphs": fat.encoded(),
    }
    launch = Launch(name, inputs, outputs, {}, sections, {}, "")
    outputs = _without(outputs, fat.nest.temporaries)
    return Program(SramConfig.target, {}, "", name, inputs, outputs, (launch,), SRAM_SCHEMA)


def _open_specs(nest: Nest) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Inputs and outputs."""
    arrays = {each.name: _open_spec(each) for each in nest.arrays.values()}
    given = [each for each in arrays if each not in (*nest.results, *nest.temporaries)]
    inputs = [arrays[each] for each in given]
    inputs += [TensorSpec(each.name, (), each.type.name) for each in nest.scalars.values()]
    return tuple(inputs), tuple(arrays[each] for each in nest.results)


def _open_spec(array: Array) -> TensorSpec:
    """Its sizes are those of the nest, or expressions of them."""
    sizes = (
        int(size.value) if isinstance(size, Constant) else print_expression(size)
        for size in array.shape
    )
    return TensorSpec(array.name, tuple(sizes), array.type.name)


def fat_program(program: Program) -> FatProgram | None:
    """``None`` for programs of commands."""
    section = program.launches[0].sections["graphs"]
    return fat_program_of(section) if len(section) else None


def hexadecimal(units: np.ndarray) -> Iterator[str]:
    """A line for each unit."""
    for unit in units.tolist():
        yield " ".join(f"{word:08x}" for word in unit)


def listing(program: Program) -> Iterator[str]:
    """The commands of all launches, a line each, and as comments the core's instructions; or a nest
    and its graphs, where these are not lowered yet."""
    if (fat := fat_program(program)) is not None:
        where = "stream engines" if fat.engine == "near" else "the core"
        yield from text_lines(print_nest(fat.nest))
        for part in fat.parts:
            yield ""
            yield from graphs_text(part.plans[0]) if part.plans[0] else (f"no region: on {where}",)
        return
    for launch in program.launches:
        config = SramConfig.from_dict(launch.config)
        for _, each in disassemble(launch.sections["commands"]):
            yield line_of(config, each)
        yield from (f"# {line}" for line in core_listing(launch.sections["instructions"]))


def core_listing(instructions: np.ndarray) -> Iterator[str]:
    """A listing of the core's programs. ``instructions``: uint32 [instructions, words of one]."""
    yield from execute_listing(
        [Instruction.decoded(tuple(words)) for words in instructions.tolist()]
    )


def first_lines(launch: Launch) -> dict[str, int]:
    """The line at which each array begins in memory."""
    specs = [*launch.inputs, *launch.outputs]
    return {
        spec.name: line for spec, line in zip(specs, launch.sections["lines"].tolist(), strict=True)
    }


def line_count(spec: TensorSpec) -> int:
    """Lines of an array, each row of which begins with one."""
    *outer, last = (1, *map(int, spec.shape))
    return prod(outer) * -(-last * spec.dtype.itemsize // LINE_BYTES)


def _check(launch: Launch, quantities: Mapping[str, Any]) -> None:
    """Raises ``ProgramError`` unless each array has its lines in memory."""
    if len(launch.sections["graphs"]):
        with damaged_as(ProgramError, "section 'graphs'"):
            _check_fat(launch)
        return
    config = SramConfig.from_dict(launch.config)
    specs = [*launch.inputs, *launch.outputs]
    if len(launch.sections["lines"]) != len(specs):
        raise ProgramError(f"section 'lines': must have {len(specs)} numbers, one for each tensor")
    if launch.sections["commands"].shape[1] != UNIT_WORDS:
        raise ProgramError(f"section 'commands': must have {UNIT_WORDS} words in each row")
    _check_instructions(launch, config)
    for spec, line in zip(specs, launch.sections["lines"].tolist(), strict=True):
        if line + line_count(spec) > config.memory_lines:
            raise ProgramError(
                f"section 'lines': {spec.name} ends in line {line + line_count(spec) - 1}, memory "
                f"has {config.memory_lines}"
            )


def _check_instructions(launch: Launch, config: SramConfig) -> None:
    instructions = launch.sections["instructions"]
    most = config.core_instructions if config.core_lanes else 0
    if len(instructions) > most or instructions.shape[1] != INSTRUCTION_WORDS:
        raise ProgramError(
            f"section 'instructions' is {list(instructions.shape)}: must be at most {most} rows of "
            f"{INSTRUCTION_WORDS} words"
        )
    for number, words in enumerate(instructions.tolist()):
        try:
            Instruction.decoded(tuple(words))
        except ValueError as error:
            raise ProgramError(f"section 'instructions', {number}: {error}") from error


def _check_fat(launch: Launch) -> None:
    """Raises ``ProgramError`` unless there is nothing else, and the graphs are about the launch's
    tensors."""
    sections = launch.sections
    for name in ("commands", "lines", "instructions"):
        if len(sections[name]):
            raise ProgramError(f"section {name!r}: must be empty where there are graphs")
    specs = _open_specs(fat_program_of(sections["graphs"]).nest)
    if (launch.inputs, launch.outputs) != specs:
        raise ProgramError("section 'graphs': is about other tensors")


SRAM_SCHEMA = Schema(
    [
        Section("commands", np.uint32, ("units", "words of a unit")),
        Section("lines", np.int64, ("arrays",), 0),
        Section("instructions", np.uint32, ("instructions", "words of an instruction")),
        Section("graphs", np.uint8, ("octets",)),
    ],
    _check,
)

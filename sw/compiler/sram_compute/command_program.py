"""Programs of commands that were written by hand, and what any program of commands consists of.

The text has a line for each array, and one for each command::

    input a int32 64,16 line=64       # of 64 rows of 16 elements, from line 64 of memory on
    output b int32 64,16 line=128
    layout element=2 base=64 sizes=1,64,1 line_strides=1 tile=4,2,0 tile_strides=1
    load row=0 n=32
    …
    end

Rows of an array begin with lines. The program itself lies from line 0 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hw.lib.errors import CapacityError, ProgramError, WorkloadError, damaged_as
from hw.lib.execute_isa import INSTRUCTION_WORDS, Instruction
from hw.lib.execute_listing import listing as execute_listing
from hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS
from hw.sram_compute.assembly import command_of, line_of
from hw.sram_compute.config import SramConfig
from hw.sram_compute.isa import UNIT_WORDS, Opcode
from hw.sram_compute.program import assemble, disassemble
from sw.compiler.passes import Pass, Trace, text_of
from sw.compiler.sram_compute.meaning import Meaning, meaning_of
from sw.program.program import Launch, Program
from sw.program.schema import Schema, Section
from sw.program.tensor_spec import TensorSpec
from sw.workloads.text_file import read_text

PASSES: tuple[Pass, ...] = (
    Pass("lower", "commands: tiles, rows, moves between bitlines and tiles"),
    Pass("assemble", "commands to words"),
)
"""A program of commands as text is lowered already."""

_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32")

_KINDS = ("input", "output")


@dataclass(frozen=True)
class CommandWorkload:
    """Commands, and the arrays that they are on.

    inputs, outputs
        arrays, and the line that each begins in.
    lines
        (number in the file, text) of the commands.
    """

    name: str
    inputs: tuple[tuple[TensorSpec, int], ...]
    outputs: tuple[tuple[TensorSpec, int], ...]
    lines: tuple[tuple[int, str], ...]


def read(path: Path) -> CommandWorkload:
    """The workload in a file. Raises ``WorkloadError`` that names the line."""
    arrays: dict[str, list[tuple[TensorSpec, int]]] = {kind: [] for kind in _KINDS}
    lines = []
    for number, text in enumerate(read_text(path).splitlines(), 1):
        words = text.partition("#")[0].split()
        if words and words[0] in _KINDS:
            try:
                arrays[words[0]].append(_array(words[1:]))
            except (ValueError, IndexError):
                raise WorkloadError(
                    f"{path}:{number}: {words[0]}: must be a name, one of {', '.join(_TYPES)}, its "
                    "sizes and line=, as a float32 64,16 line=64"
                ) from None
        elif words:
            lines.append((number, " ".join(words)))
    return CommandWorkload(str(path), tuple(arrays["input"]), tuple(arrays["output"]), tuple(lines))


def _array(words: list[str]) -> tuple[TensorSpec, int]:
    name, type, sizes, line = words
    label, value = line.split("=")
    shape = tuple(int(size) for size in sizes.split(","))
    if type not in _TYPES or label != "line" or min(shape) < 1 or int(value) < 0:
        raise ValueError
    return TensorSpec(name, shape, type), int(value)


def compile(
    workload: CommandWorkload, config: SramConfig, *, seed: int, trace: Trace, **options: Any
) -> Program:
    """Raises ``WorkloadError`` that names the line, ``CapacityError``."""
    commands = []
    for number, line in workload.lines:
        try:
            commands.append(command_of(config, line))
        except WorkloadError as error:
            raise WorkloadError(f"{workload.name}:{number}: {error}") from None
        if commands[-1].opcode == Opcode.CORE:
            raise WorkloadError(
                f"{workload.name}:{number}: core: not supported in a file of commands, which "
                "has no instructions"
            )
    trace.after("lower", lambda: {"txt": text_of(line_of(config, each) for each in commands)})
    units = assemble(commands)
    trace.after("assemble", lambda: {"txt": text_of(hexadecimal(units))})
    first = min(
        (line for _, line in (*workload.inputs, *workload.outputs)), default=config.memory_lines
    )
    if len(units) * UNIT_WORDS > first * LINE_WORDS:
        raise CapacityError(
            f"{workload.name}: {len(units)} units of commands reach the arrays, which begin in "
            f"line {first}"
        )
    return program_of(config, workload.name, workload.inputs, workload.outputs, units)


def program_of(
    config: SramConfig,
    name: str,
    inputs: Iterable[tuple[TensorSpec, int]],
    outputs: Iterable[tuple[TensorSpec, int]],
    units: np.ndarray,
    meaning: np.ndarray | None = None,
    instructions: np.ndarray | None = None,
) -> Program:
    """A program on arrays that each begin in a line of memory.

    ``units``: uint32 [units, words of a unit]; ``meaning``: of a loop nest, encoded;
    ``instructions`` of the core: uint32 [instructions, words of one]. Raises ``CapacityError``.
    """
    if instructions is None:
        instructions = np.zeros((0, INSTRUCTION_WORDS), np.uint32)
    inputs, outputs = tuple(inputs), tuple(outputs)
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
            "meaning": np.zeros(0, np.uint8) if meaning is None else meaning,
            "instructions": instructions,
        },
    )
    try:
        program.check()
    except ProgramError as error:
        raise CapacityError(f"{name}: {error}") from None
    return program


def hexadecimal(units: np.ndarray) -> Iterator[str]:
    """A line for each unit."""
    for unit in units.tolist():
        yield " ".join(f"{word:08x}" for word in unit)


def listing(program: Program) -> Iterator[str]:
    """The commands of all launches, a line each, and as comments the core's instructions."""
    for launch in program.launches:
        config = SramConfig.from_dict(launch.config)
        for _, each in disassemble(launch.sections["commands"]):
            yield line_of(config, each)
        yield from (f"# {line}" for line in core_listing(launch.sections["instructions"]))


def core_listing(instructions: np.ndarray) -> Iterator[str]:
    """``instructions``: uint32 [instructions, words of one]."""
    yield from execute_listing(
        [Instruction.decoded(tuple(words)) for words in instructions.tolist()]
    )


def meaning(program: Program) -> Meaning | None:
    """Of a compiled nest; ``None`` for commands that were written by hand."""
    return meaning_of_launch(program.launches[0])


def meaning_of_launch(launch: Launch) -> Meaning | None:
    section = launch.sections["meaning"]
    return meaning_of(section) if len(section) else None


def first_lines(launch: Launch) -> dict[str, int]:
    """Where each array begins in memory."""
    specs = [*launch.inputs, *launch.outputs]
    return {
        spec.name: line for spec, line in zip(specs, launch.sections["lines"].tolist(), strict=True)
    }


def line_count(spec: TensorSpec) -> int:
    """Lines of an array, each row of which begins with one."""
    *outer, last = (1, *map(int, spec.shape))
    return prod(outer) * -(-last * spec.dtype.itemsize // LINE_BYTES)


def _check(launch: Launch, quantities: Mapping[str, Any]) -> None:
    """That each array has its place in memory."""
    config = SramConfig.from_dict(launch.config)
    specs = [*launch.inputs, *launch.outputs]
    if len(launch.sections["meaning"]):
        with damaged_as(ProgramError, "section 'meaning'"):
            _check_meaning(launch)
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


def _check_meaning(launch: Launch) -> None:
    """That it is about the launch's arrays."""
    meaning = meaning_of(launch.sections["meaning"])
    for nest in (meaning.nest, meaning.order):
        names = {spec.name for spec in launch.inputs} | {*nest.results}
        if not {*meaning.nest.arrays} <= names | {*nest.arrays}:
            raise ValueError("is about other arrays")
    if meaning.nest.results != tuple(spec.name for spec in launch.outputs):
        raise ValueError(f"must write {', '.join(spec.name for spec in launch.outputs)}")


SRAM_SCHEMA = Schema(
    [
        Section("commands", np.uint32, ("units", "words of a unit")),
        Section("lines", np.int64, ("arrays",), 0),
        Section("meaning", np.uint8, ("octets",)),
        Section("instructions", np.uint32, ("instructions", "words of an instruction")),
    ],
    _check,
)

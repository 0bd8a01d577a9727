"""Programs of commands that were written by hand.

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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import CapacityError, WorkloadError, short
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.text_lines import text_lines, words_of
from gnarl.hw.sram_compute.assembly import command_of, line_of
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import UNIT_WORDS, Opcode
from gnarl.hw.sram_compute.program import Command, assemble
from gnarl.sw.compiler.passes import Pass, Trace, made, run_passes, text_of
from gnarl.sw.compiler.sram_compute.sections import hexadecimal, program_of
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.workloads.text_file import read_text, whole_number

LOWER = ("lower", "commands: tiles, rows, moves between bitlines and tiles")
ASSEMBLE = ("assemble", "commands to words")
"""Passes that programs of nests have, too: name, and what they do."""

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
    arrays: dict[str, dict[str, tuple[TensorSpec, int]]] = {kind: {} for kind in _KINDS}
    lines = []
    for number, text in enumerate(text_lines(read_text(path)), 1):
        words = words_of(text.partition("#")[0])
        if words and words[0] in _KINDS:
            place = f"{path}:{number}"
            spec, line = _array(words, place)
            if spec.name in arrays[words[0]]:
                raise WorkloadError(
                    f"{place}: {words[0]} {short(spec.name)} is given twice: must be given once"
                )
            arrays[words[0]][spec.name] = spec, line
        elif words:
            lines.append((number, " ".join(words)))
    inputs, outputs = (tuple(arrays[kind].values()) for kind in _KINDS)
    return CommandWorkload(str(path), inputs, outputs, tuple(lines))


def _array(words: Sequence[str], place: str) -> tuple[TensorSpec, int]:
    """What a line of these words says."""
    form = (
        f"{place}: {words[0]}: must be a name, one of {', '.join(_TYPES)}, its sizes and line=, as "
        "a float32 64,16 line=64"
    )
    if len(words) != 5:
        raise WorkloadError(form)
    name, type, sizes, line = words[1:]
    label, equals, value = line.partition("=")
    if not name.isidentifier() or type not in _TYPES or label != "line" or not equals:
        raise WorkloadError(form)
    shape = tuple(whole_number(size, place) for size in sizes.split(","))
    first = whole_number(value, place)
    if min(shape) < 1 or first < 0:
        raise WorkloadError(form)
    return TensorSpec(name, shape, type), first


@dataclass(frozen=True)
class CommandOptions:
    """What the passes are told."""

    workload: CommandWorkload
    config: SramConfig


@dataclass(frozen=True)
class CommandState:
    """What the passes have made."""

    commands: Sequence[Command] = ()
    units: np.ndarray | None = None


def _lower(state: CommandState, options: CommandOptions) -> CommandState:
    name, commands = options.workload.name, []
    for number, line in options.workload.lines:
        try:
            commands.append(command_of(options.config, line))
        except WorkloadError as error:
            raise WorkloadError(f"{name}:{number}: {error}") from None
        if commands[-1].opcode == Opcode.CORE:
            raise WorkloadError(
                f"{name}:{number}: core: not supported in a file of commands, which "
                "has no instructions"
            )
    return replace(state, commands=commands)


def _lower_texts(state: CommandState, options: CommandOptions) -> dict[str, str]:
    return {"txt": text_of(line_of(options.config, each) for each in state.commands)}


PASSES: tuple[Pass[CommandState, CommandOptions], ...] = (
    Pass(*LOWER, _lower_texts, run=_lower),
    Pass(
        *ASSEMBLE,
        lambda state, options: {"txt": text_of(hexadecimal(made(state.units)))},
        run=lambda state, options: replace(state, units=assemble(state.commands)),
    ),
)
"""Commands as text are lowered but for their numbers."""


def compile(
    workload: CommandWorkload, config: SramConfig, *, seed: int, trace: Trace, **options: Any
) -> Program:
    """Raises ``WorkloadError`` that names the line, ``CapacityError``."""
    state = run_passes(PASSES, CommandState(), CommandOptions(workload, config), trace)
    units = made(state.units)
    first = min(
        (line for _, line in (*workload.inputs, *workload.outputs)), default=config.memory_lines
    )
    if len(units) * UNIT_WORDS > first * LINE_WORDS:
        raise CapacityError(
            f"{workload.name}: arrays begin in line {first}: must begin behind the {len(units)} "
            f"units of commands, from line {-(-len(units) * UNIT_WORDS // LINE_WORDS)} on"
        )
    return program_of(config, workload.name, workload.inputs, workload.outputs, units)

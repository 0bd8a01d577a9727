"""Finds the memory that a program may read before anything has written it since it was loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION_WORDS
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import DIMENSIONS, LINE_UNITS, Opcode
from gnarl.hw.sram_compute.program import disassemble
from gnarl.sw.program.rows import Rows


def with_zeros(config: SramConfig, commands: np.ndarray, image: Mapping[str, Rows]) -> Any:
    """``image``, by window, and zeros where the program may read what is not in it: lines of
    arrays, what follows the commands, instructions behind the last one, and all lines where the
    core runs, whose addresses are not known. ``commands``: uint32 [units, words of a unit]."""
    filled = dict(image)
    lines = np.zeros(config.memory_lines, bool)
    for first, end in _reads(config, commands):
        lines[first:end] = True
    lines[image["memory"].numbers] = False
    filled["memory"] = _with(image["memory"], np.flatnonzero(lines), LINE_WORDS)
    if config.core_lanes:
        nothing = Rows(np.zeros(0, np.int64), np.zeros((0, INSTRUCTION_WORDS), np.uint32))
        instructions = image.get("instructions", nothing)
        rest = np.arange(len(instructions.numbers), config.core_instructions)
        filled["instructions"] = _with(instructions, rest, INSTRUCTION_WORDS)
    return filled


def _with(rows: Rows, numbers: np.ndarray, words: int) -> Rows:
    together = np.concatenate([rows.numbers, numbers])
    order = np.argsort(together, kind="stable")
    zeros = np.zeros((len(numbers), words), np.uint32)
    return Rows(together[order], np.concatenate([rows.words, zeros])[order])


def _reads(config: SramConfig, commands: np.ndarray) -> Iterator[tuple[int, int]]:
    """Lines from one up to another, without; perhaps more than are read."""
    end = -(-len(commands) // LINE_UNITS)
    yield end, end + 1
    layouts: dict[int, Mapping[str, Any]] = {}
    for _, each in disassemble(commands):
        fields = each.fields
        if each.opcode == Opcode.CORE:
            yield 0, config.memory_lines
        elif each.opcode == Opcode.LAYOUT:
            layouts[fields["layout"]] = fields
        elif each.opcode == Opcode.COPY and not fields["is_store"]:
            yield fields["line"], fields["line"] + fields["lines"]
        elif each.opcode == Opcode.LOAD and fields["layout"] in layouts:
            yield _lines(layouts[fields["layout"]])


def _lines(entry: Mapping[str, Any]) -> tuple[int, int]:
    """The lines of a layout, from the first one up to behind the last."""
    steps = (1, *entry["line_strides"])
    sizes, chunk = entry["sizes"], entry["chunk"]
    last = entry["base"] + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    if chunk:
        last += sizes[entry["chunked"] % DIMENSIONS] // chunk * entry["chunk_lines"]
    return entry["base"], last + 1

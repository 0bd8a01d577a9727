"""Converts a program of commands and values to main memory, and this back to values."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS
from gnarl.hw.sram_compute.isa import UNIT_WORDS
from gnarl.sw.compiler.sram_compute.sections import first_lines, line_count
from gnarl.sw.program.program import Launch
from gnarl.sw.program.rows import Rows
from gnarl.sw.program.tensor_spec import Array, TensorSpec


def image(launch: Launch, operands: Mapping[str, Array]) -> dict[str, Rows]:
    """What to write before a start, by window. Outputs begin as 0."""
    commands = launch.sections["commands"]
    lines = {0: _padded(commands.reshape(-1, UNIT_WORDS).view(np.uint8).reshape(1, -1))}
    where = first_lines(launch)
    for spec in launch.outputs:
        lines[where[spec.name]] = np.zeros((line_count(spec), LINE_WORDS), np.uint32)
    for spec in launch.inputs:
        array = np.ascontiguousarray(np.asarray(operands[spec.name]).astype(spec.dtype))
        lines[where[spec.name]] = _padded(array.reshape(_rows(spec)).view(np.uint8))
    numbers = np.concatenate([first + np.arange(len(part)) for first, part in lines.items()])
    words = np.concatenate(list(lines.values()))
    kept, places = np.unique(numbers, return_index=True)
    start = np.zeros((1, 1), np.uint32)
    rows = {"memory": Rows(kept, words[places]), "program": Rows(np.arange(1), start)}
    instructions = launch.sections["instructions"]
    if len(instructions):
        rows["instructions"] = Rows.first(instructions)
    return rows


def result_rows(launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The lines of all outputs."""
    lines = [_lines(launch, spec) for spec in launch.outputs]
    return {"memory": np.unique(np.concatenate(lines))} if lines else {}


def outputs(
    launch: Launch, operands: Mapping[str, Array], memory: Mapping[str, Rows]
) -> dict[str, Array]:
    """The outputs in those lines."""
    arrays: dict[str, Array] = {}
    for spec in launch.outputs:
        rows = memory["memory"]
        words = rows.words[np.searchsorted(rows.numbers, _lines(launch, spec))]
        rows_of, size = _rows(spec)
        octets = np.ascontiguousarray(words).view(np.uint8)
        per_row = -(-size * spec.dtype.itemsize // LINE_BYTES) * LINE_BYTES
        whole = octets.reshape(rows_of, per_row)[:, : size * spec.dtype.itemsize]
        shape = [int(each) for each in spec.shape]
        arrays[spec.name] = np.ascontiguousarray(whole).view(spec.dtype).reshape(shape)
    return arrays


def _rows(spec: TensorSpec) -> tuple[int, int]:
    """Rows of an array, each of which begins a line, and elements of one; perhaps none."""
    *outer, size = map(int, spec.shape or (1,))
    return prod(outer), size


def _lines(launch: Launch, spec: TensorSpec) -> np.ndarray:
    return first_lines(launch)[spec.name] + np.arange(line_count(spec))


def _padded(octets: np.ndarray) -> np.ndarray:
    """Rows of whole lines: uint32 [lines, words of a line]."""
    lines = -(-octets.shape[1] // LINE_BYTES)
    whole = np.zeros((len(octets), lines * LINE_BYTES), np.uint8)
    whole[:, : octets.shape[1]] = octets
    return whole.view("<u4").reshape(-1, LINE_WORDS)

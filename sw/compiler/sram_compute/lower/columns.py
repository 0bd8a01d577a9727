"""Commands as rows of numbers: which column each number has."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gnarl.hw.sram_compute.isa import COMMANDS, Opcode
from gnarl.hw.sram_compute.program import Command, numbers


def column(opcode: Opcode, name: str) -> int:
    """The column of a command's field, or of the first of its numbers, in a row."""
    return [each.field for each in numbers(opcode)].index(name)


COLUMNS = max(len(numbers(opcode)) for opcode in COMMANDS)
"""Numbers of the command with the most, the opcode among them."""

OUTPUT = COLUMNS
"""The column behind those, of what is no number of a command: the output that it is for."""


def table(commands: Iterable[Command]) -> np.ndarray:
    """int64 [commands, columns]."""
    return np.array([_row(each) for each in commands], np.int64).reshape(-1, COLUMNS)


def _row(given: Command) -> list[int]:
    row = [given.opcode.value]
    for value in given.fields.values():
        row += value if isinstance(value, tuple) else (value,)
    assert len(row) == len(numbers(given.opcode))
    return row + [0] * (COLUMNS - len(row))

"""Commands as rows of numbers: which column each number has."""

from __future__ import annotations

from hw.sram_compute.isa import COMMANDS, Opcode
from hw.sram_compute.program import numbers


def column(opcode: Opcode, name: str) -> int:
    """Of a command's field, or the first of its numbers, in a row."""
    return [each.field for each in numbers(opcode)].index(name)


COLUMNS = max(len(numbers(opcode)) for opcode in COMMANDS)
"""Numbers of the command with the most, the opcode among them."""

"""Programs of a nest's parts as one program, on the same arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hw.lib.errors import CapacityError
from hw.sram_compute.isa import LINE_UNITS, Opcode
from hw.sram_compute.program import assemble, command, disassemble
from sw.compiler.sram_compute.lower.lower import Lowered


def lines_of_commands(parts: Sequence[Lowered | None]) -> int:
    """That the joined program takes. ``None``: a part on the core, which has a ``CORE``."""
    units = sum(1 if part is None else len(part.units) - 1 for part in parts) + 1
    return -(-units // LINE_UNITS)


def joined(
    parts: Sequence[Lowered | None],
    cores: Sequence[int],
    lines: Mapping[str, int],
    end: int,
    memory_lines: int,
) -> np.ndarray:
    """uint32 [units, words of a unit]: the parts in order, and one ``END``.

    ``cores``: the first instruction of each part on the core; ``lines``: the first line of each
    array; ``end``: that behind the last array, from which on parts keep what they store for a
    while. Raises ``CapacityError`` where that is beyond memory. O(commands).
    """
    firsts = iter(cores)
    found = [
        assemble([command(Opcode.CORE, first=next(firsts))])
        if part is None
        else _moved(part, lines, end, memory_lines)[:-1]
        for part in parts
    ]
    return np.concatenate([*found, assemble([command(Opcode.END)])])


def _moved(part: Lowered, lines: Mapping[str, int], end: int, memory_lines: int) -> np.ndarray:
    """Its program, on arrays that lie elsewhere."""
    moves = [
        (array.first_line, array.first_line + array.lines, lines[name] - array.first_line)
        for name, array in part.arrays.items()
    ]
    own_end = max(last for _, last, _ in moves)
    moves.append((own_end, memory_lines, end - own_end))
    if not any(by for _, _, by in moves):
        return part.units
    commands = []
    for _, each in disassemble(part.units):
        if each.opcode == Opcode.LAYOUT:
            fields = dict(each.fields)
            fields["base"] += next(
                by for first, last, by in moves if first <= fields["base"] < last
            )
            last_line = fields["base"] + fields["sizes"][0] - 1
            for size, stride in zip(fields["sizes"][1:], fields["line_strides"], strict=True):
                last_line += (size - 1) * stride
            if last_line >= memory_lines:
                raise CapacityError(
                    f"what leaves rows for a while needs {last_line + 1} lines of memory: there "
                    f"are {memory_lines}"
                )
            each = replace(each, fields=fields)
        commands.append(each)
    return assemble(commands)

"""Programs of a nest's parts as one program, on the same arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.lines.line_size import LINE_BYTES
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import LINE_UNITS, UNITS, Opcode
from gnarl.hw.sram_compute.program import assemble, command, disassemble
from gnarl.sw.compiler.sram_compute.lower.lattice import aligned
from gnarl.sw.compiler.sram_compute.lower.lower import MemoryCode
from gnarl.sw.compiler.sram_compute.near.lower import NearCode
from gnarl.sw.compiler.sram_compute.slabs import Slab, Slabs


def lines_of_commands(parts: Iterable[MemoryCode | Slabs | NearCode | None]) -> int:
    """Lines that the joined program takes, at most. ``None``: a part on the core, a ``CORE``."""
    units = UNITS[Opcode.END]
    for part in parts:
        match part:
            case None:
                units += UNITS[Opcode.CORE]
            case NearCode():
                units += part.units
            case MemoryCode():
                units += len(part.units) - UNITS[Opcode.END]
            case Slabs(slabs):
                units += sum(len(each.code.units) - UNITS[Opcode.END] for each in slabs)
    return -(-units // LINE_UNITS)


def joined(
    parts: Iterable[MemoryCode | Slab | np.ndarray],
    lines: Mapping[str, int],
    end: int,
    config: SramConfig,
) -> np.ndarray:
    """uint32 [units, words of a unit]: the parts in order, and one ``END``.

    ``parts``: in memory, or else words of units; ``lines``: the first line of each array; ``end``:
    that behind the last array, from which on parts keep what they store for a while. Raises
    ``CapacityError`` where that is beyond memory. O(commands).
    """
    pieces = []
    for part in parts:
        match part:
            case MemoryCode():
                pieces.append(_moved(part, lines, end, config)[: -UNITS[Opcode.END]])
            case Slab(code, before):
                own = {name: lines[name] + count for name, count in before.items()}
                pieces.append(_moved(code, own, end, config)[: -UNITS[Opcode.END]])
            case _:
                pieces.append(part)
    return np.concatenate([*pieces, assemble([command(Opcode.END)])])


def _moved(part: MemoryCode, lines: Mapping[str, int], end: int, config: SramConfig) -> np.ndarray:
    """Its program, on arrays that lie elsewhere."""
    moves = [
        (array.first_line, array.first_line + array.lines, lines[name] - array.first_line)
        for name, array in part.arrays.items()
    ]
    own_end = aligned(max(last for _, last, _ in moves), config.memory_channels)
    moves.append((own_end, config.memory_lines, end - own_end))
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
            if last_line >= config.memory_lines:
                raise CapacityError(
                    f"memory_bytes = {config.memory_bytes}: must be at least "
                    f"{1 << (last_line * LINE_BYTES).bit_length()}, with what leaves rows for a "
                    "while"
                )
            each = replace(each, fields=fields)
        commands.append(each)
    return assemble(commands)

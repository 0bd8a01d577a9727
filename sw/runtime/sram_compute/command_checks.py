"""What programs of commands may not do, whichever machine runs them: the hardware does not notice
it, and would go on for a long time, on other rows, or with what is no microprogram."""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.lib.lines.line_size import LINE_BYTES
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.microcode.sequence import extent
from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.hw.sram_compute.operations import MAX_WIDTH
from gnarl.hw.sram_compute.program import Command, disassemble
from gnarl.sw.runtime.sram_compute.model.microprograms import microprograms


def check_commands(config: SramConfig, units: np.ndarray) -> None:
    """Checks the units of a program. ``units``: uint32 [units, words of a unit]. Raises
    ``ProgramError`` naming unit and field.

    What the hardware refuses is left to it.
    """
    for place, each in disassemble(units):
        if each.opcode == Opcode.LAYOUT:
            _check_layout(config, place, each)
        elif each.opcode == Opcode.COMPUTE:
            _check_compute(config, place, each)


def _check_layout(config: SramConfig, place: int, layout: Command) -> None:
    """Raises ``ProgramError`` unless elements have bitlines of their own, and there are enough of
    these."""
    sizes, element = layout.fields["sizes"], layout.fields["element"]
    bitlines = config.tiles * config.bitlines
    elements = prod(sizes) * (LINE_BYTES >> element)
    if elements > bitlines:
        raise ProgramError(
            f"unit {place}: sizes = {','.join(map(str, sizes))}: {elements} elements: must be at "
            f"most {bitlines}, the bitlines of all tiles"
        )


def _check_compute(config: SramConfig, place: int, compute: Command) -> None:
    """Raises ``ProgramError`` unless a microprogram begins there, has such a width, and stays
    within the rows."""
    entry, n = compute.fields["entry"], compute.fields["n"]
    if entry >= len(config.rom.words) or n > MAX_WIDTH:
        return
    widths = _widths(config).get(entry)
    if widths is None:
        raise ProgramError(f"unit {place}: entry = {entry}: no operation begins there")
    if n not in widths:
        raise ProgramError(
            f"unit {place}: n = {n}: must be from {min(widths)} to {max(widths)}, for which the "
            f"operation is that begins at entry {entry}"
        )
    for base, row in zip(Base, compute.fields["bases"], strict=True):
        first, end = _extent(config, entry, n, base)
        if row < config.wordlines and not 0 <= row + first <= row + end <= config.wordlines:
            raise ProgramError(
                f"unit {place}: bases: {base.name} = {row}: needs rows {row + first} to "
                f"{row + end - 1}: must be within {config.wordlines}"
            )


@lru_cache(maxsize=4)
def _widths(config: SramConfig) -> dict[int, frozenset[int]]:
    """The widths that programs have, by entry; any where the width is no parameter."""
    by_entry: dict[int, frozenset[int]] = {}
    for name, operation in config.operations.items():
        starts = sorted(operation.programs())
        for least, end in zip(starts, [*starts[1:], MAX_WIDTH + 1], strict=True):
            entry = config.rom.entries[name][least]
            widths = range(least if operation.is_parametric else 0, end)
            by_entry[entry] = by_entry.get(entry, frozenset()) | frozenset(widths)
    return by_entry


@lru_cache(maxsize=1 << 14)
def _extent(config: SramConfig, entry: int, n: int, base: Base) -> tuple[int, int]:
    return extent(microprograms(config)[entry], base, n)

"""About how many cycles commands take, to choose between programs that do the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hw.sram_compute.config import SramConfig
from hw.sram_compute.isa import Opcode
from sw.compiler.sram_compute.lower.commands import Commands


def estimate(commands: Commands, config: SramConfig) -> int:
    """Cycles, of which those of patterns and fetches are left out. O(commands)."""
    computed = {
        config.rom.entry(operation, n): operation.cycles(n, skips=config.skip)
        for operation in config.operations.values()
        for n in operation.programs()
    }
    layouts: dict[int, Mapping[str, Any]] = {}
    found = 0
    for opcode, fields in commands:
        match opcode:
            case Opcode.LAYOUT:
                layouts[fields["layout"]] = fields
            case Opcode.LOAD | Opcode.STORE:
                lines, *others = layouts[fields["layout"]]["sizes"]
                for size in others:
                    lines *= size
                found += lines * config.line_cycles
            case Opcode.COMPUTE:
                found += computed[fields["entry"]]
            case Opcode.SHIFT | Opcode.BROADCAST:
                found += fields["n"] * (config.bitlines // config.network_bits + config.arrays)
            case _:
                found += fields.get("n", 0) + 1
    return found

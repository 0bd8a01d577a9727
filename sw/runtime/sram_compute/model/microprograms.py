"""Microprograms of a configuration's ROM."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.microcode.program import Microinstruction


@lru_cache(maxsize=4)
def microprograms(config: SramConfig) -> Mapping[int, tuple[Microinstruction, ...]]:
    """Microprograms by the entry at which they begin."""
    return {
        config.rom.entries[name][width]: program
        for name, operation in config.operations.items()
        for width, program in operation.programs().items()
    }

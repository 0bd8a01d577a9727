"""A SAM machine's settings, arrays, counters and errors in the host's address space."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from amaranth.lib.enum import EnumType

from hw.lib.errors import ConfigError
from hw.lib.memory_map import MemoryMap, Window
from hw.sam.block_types import BITVECTOR_BITS, Array
from hw.sam.config import SamConfig
from hw.sam.unit import Unit, all_settings, settings_of, unit_of

if TYPE_CHECKING:  # Amaranth's IntEnum is this one with the metaclass EnumType
    from enum import IntEnum
else:
    from amaranth.lib.enum import IntEnum

__all__ = ["ErrorCause", "WATCHDOG_CYCLES", "memory_map", "settings_of", "units_of"]


class ErrorCause(IntEnum, metaclass=EnumType, shape=8):
    """Why the machine stopped.

    ``FAULT``: the block whose number is the detail saw something impossible. ``DEADLOCK``: nothing
    has moved for a while; the detail is the number of the first block that offers a token, or of
    blocks there are if none does.
    """

    NONE = 0
    FAULT = 1
    DEADLOCK = 2


WATCHDOG_CYCLES = 4096
"""Cycles without any token or request moving, beyond the memory's latency, that are a deadlock."""


def units_of(config: SamConfig) -> tuple[Unit, ...]:
    """What the machine consists of, in the order of numbers in details of errors."""
    if config.graph is not None:
        return tuple(unit_of(block, config.graph) for block in config.graph.blocks)
    raise ConfigError(["graph: there is none, and no fabric: no machine can be built"])


def arrays_of(config: SamConfig, units: Iterable[Unit]) -> list[tuple[Window, bool]]:
    """The window of each array, at no base yet, and whether its unit writes it."""
    return [
        (
            Window(unit.window(array), config.array_words, array.words, _word_bits(config, array)),
            array.writes,
        )
        for unit in units
        for array in unit.arrays
    ]


def _word_bits(config: SamConfig, array: Array) -> int:
    if array.name == "bv":
        return BITVECTOR_BITS
    return config.width if array.of_values else config.index_bits


def memory_map(config: SamConfig) -> MemoryMap:
    """``settings``: a row for each of ``settings_of``; ``BLOCK_ARRAY`` for each array.

    Counters: ``tokens_BLOCK_OUTPUT``, tokens that an output gave; ``stalls_BLOCK``, cycles in which
    the block offered a token that was not taken; ``BLOCK_COUNT``, what a writer wrote.
    """
    units = units_of(config)
    settings = Window("settings", max(1, len(all_settings(units))), 1, config.index_bits)
    arrays = [window for window, _ in arrays_of(config, units)]
    return MemoryMap([settings, *arrays], counters(units), ErrorCause)


def counters(units: Iterable[Unit]) -> list[str]:
    units = list(units)
    return [
        *(f"tokens_{unit.name}_{output}" for unit in units for output in unit.outputs),
        *(f"stalls_{unit.name}" for unit in units),
        *(f"{unit.name}_{count}" for unit in units for count in unit.counts),
    ]

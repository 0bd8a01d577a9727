"""A SAM machine's settings, arrays, counters and errors in the host's address space."""

from __future__ import annotations

from collections.abc import Iterable

from gnarl.hw.lib.encoding.enum import EnumType, IntEnum
from gnarl.hw.lib.errors import ConfigError, Violation, short
from gnarl.hw.lib.machine.memory_map import MemoryMap, Window
from gnarl.hw.sam.block_types import BITVECTOR_BITS, Array
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.fabric.encoding import WORD_BITS as FABRIC_WORD_BITS
from gnarl.hw.sam.fabric.encoding import fabric_units, fields, pool
from gnarl.hw.sam.memory.line_placement import line_windows, require_lines
from gnarl.hw.sam.memory.placement import shared_windows
from gnarl.hw.sam.unit import Unit, settings_of, unit_of


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


def patience(config: SamConfig) -> int:
    """Cycles without any token or request moving that are a deadlock."""
    return WATCHDOG_CYCLES + (0 if config.memory == "local" else config.memory_latency)


MOST_LISTED = 1500
"""Characters of a list of arrays in an error."""

_MEMORY = "core.memory"
"""Instance path of the memory that holds all arrays."""


def units_of(config: SamConfig) -> tuple[Unit, ...]:
    """What the machine consists of, in the order of numbers in details of errors."""
    if config.graph is not None:
        return tuple(unit_of(block, config.graph) for block in config.graph.blocks)
    if config.fabric is not None:
        return fabric_units(config)
    raise ConfigError(["graph: missing, and no fabric: must have one of them, or an expression"])


def settings_rows(config: SamConfig) -> list[tuple[str, str]]:
    """Blocks, or units of a fabric, and settings, in the order of the window ``settings``."""
    return settings_of(units_of(config))


def arrays_of(config: SamConfig, units: Iterable[Unit]) -> list[tuple[Window, bool]]:
    """The window of each array, at no base yet, and whether its unit writes it.

    Raises ``ConfigError`` for sizes of arrays that there are not, and for rows that are longer than
    a line of memory.
    """
    units = tuple(units)
    require_arrays(config, units)
    arrays = [
        (
            Window(
                unit.window(array),
                config.rows_of(unit.name, array),
                array.words,
                word_bits(config, array),
            ),
            array.writes,
        )
        for unit in units
        for array in unit.arrays
    ]
    if config.memory == "lines":
        require_lines((window for window, _ in arrays), config.line_words)
    if config.memory != "local":
        return arrays
    return [
        (window.in_shared_memory(f"{_MEMORY}.{window.name}"), writes) for window, writes in arrays
    ]


def require_arrays(config: SamConfig, units: Iterable[Unit]) -> None:
    """Raises ``ConfigError`` for sizes of arrays that there are not."""
    if not config.arrays:
        return
    windows = [(unit.name, unit.window(array)) for unit in units for array in unit.arrays]
    known = {name for names in windows for name in names}
    there = short(", ".join(window for _, window in windows) or "none", MOST_LISTED)
    unknown = [f".{short(name)}: no such array" for name in config.arrays if name not in known]
    if unknown:
        unknown[-1] += f"; there are {there}"
        raise ConfigError([Violation("arrays", problem) for problem in unknown])


def array_windows(config: SamConfig) -> list[Window]:
    """The window of each array of the machine, at no base, in the units' order."""
    return [window for window, _ in arrays_of(config, units_of(config))]


def memory_windows(config: SamConfig, units: Iterable[Unit]) -> list[Window]:
    """The host's windows onto arrays: each one's own, or those of the memory that they share."""
    arrays = [window for window, _ in arrays_of(config, units)]
    if config.memory == "local" or not arrays:
        return arrays
    if config.memory == "lines":
        return line_windows(arrays, config.line_words, config.memory_channels, _MEMORY)
    return shared_windows(arrays, _MEMORY, config.memory_bandwidth)


def word_bits(config: SamConfig, array: Array) -> int:
    """Bits of a word of an array."""
    if array.name == "bv":
        return BITVECTOR_BITS
    return config.width if array.of_values else config.index_bits


def memory_map(config: SamConfig) -> MemoryMap:
    """``settings``: a row for each of ``settings_of`` of the units; ``BLOCK_ARRAY`` for each
    array, or the windows of ``placement`` where they share a memory; ``configuration``, if it is a
    fabric: a row for each word of ``fabric_encoding.encode``.

    Counters: ``tokens_BLOCK_OUTPUT``, tokens that an output gave; ``operations_BLOCK``, values that
    a block computed, or added to others; ``reads_BLOCK_ARRAY``, rows of an array that its block
    asked for, those of searches and those that it then had no use for included; with a memory of
    lines ``lines_BLOCK_ARRAY``, lines of an array that were read or written, and ``lines_N``, lines
    of channel N; ``stalls_BLOCK``, cycles in which the block offered a token that was not taken;
    ``BLOCK_COUNT``, what a writer wrote. Without ``config.counters`` only the last.
    """
    units = units_of(config)
    settings = Window("settings", max(1, len(settings_of(units))), 1, config.index_bits)
    windows = [settings]
    if config.fabric is not None:
        words = len(fields(pool(config)))
        windows.append(Window("configuration", words, 1, FABRIC_WORD_BITS))
    windows += memory_windows(config, units)
    return MemoryMap(windows, counters(config, units), ErrorCause)


def counters(config: SamConfig, units: Iterable[Unit]) -> list[str]:
    units = list(units)
    counts = (f"{unit.name}_{count}" for unit in units for count in unit.counts)
    return [*(event_counters(config, units) if config.counters else ()), *counts]


def event_counters(config: SamConfig, units: Iterable[Unit]) -> list[str]:
    """Counters of what happens in a run, in the order of ``SamCore``'s events."""
    units = list(units)
    return [
        *token_counters(units),
        *operation_counters(units),
        *read_counters(units),
        *line_counters(config, units),
        *channel_counters(config, units),
        *stall_counters(units),
    ]


def token_counters(units: Iterable[Unit]) -> dict[str, str]:
    """Counters of tokens, and the streams they count as ``BLOCK_OUTPUT``."""
    streams = [f"{unit.name}_{output}" for unit in units for output in unit.outputs]
    return {f"tokens_{stream}": stream for stream in streams}


def operation_counters(units: Iterable[Unit]) -> dict[str, str]:
    """Counters of operations, and their units."""
    return {f"operations_{unit.name}": unit.name for unit in units if unit.operations}


def read_counters(units: Iterable[Unit]) -> dict[str, str]:
    """Counters of rows that were asked for, and the arrays' windows."""
    windows = [unit.window(each) for unit in units for each in unit.arrays if not each.writes]
    return {f"reads_{window}": window for window in windows}


def line_counters(config: SamConfig, units: Iterable[Unit]) -> dict[str, str]:
    """Counters of lines that were read or written, and the arrays' windows."""
    if config.memory != "lines":
        return {}
    windows = [unit.window(array) for unit in units for array in unit.arrays]
    return {f"lines_{window}": window for window in windows}


def channel_counters(config: SamConfig, units: Iterable[Unit]) -> list[str]:
    """Counters of lines that channels moved."""
    if config.memory != "lines" or not any(unit.arrays for unit in units):
        return []
    return [f"lines_{channel}" for channel in range(config.memory_channels)]


def stall_counters(units: Iterable[Unit]) -> dict[str, str]:
    """Counters of stalled cycles, and their units."""
    return {f"stalls_{unit.name}": unit.name for unit in units}

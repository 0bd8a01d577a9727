"""Memory, counters and errors of in-SRAM computing in the host's address space."""

from __future__ import annotations

from dataclasses import replace

from gnarl.hw.lib.encoding.enum import EnumType, IntEnum
from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION_WORDS, Fault
from gnarl.hw.lib.lines.line_memory import MEMORY
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.machine.memory_map import MemoryMap, RamMap, Window, word_ram
from gnarl.hw.sram_compute.config import SramConfig


class ErrorCause(IntEnum, metaclass=EnumType, shape=8):
    """Why the system stopped. The detail is the number of the command's first unit, counted from
    the beginning of memory; of the core's faults, the number of its instruction.

    ``COMMAND``: there is no such opcode. ``OPERAND``: rows, bitlines, tiles, widths or entries that
    the configuration does not have, or rows that overlap. ``LAYOUT``: an entry of the layout
    override table that makes no sense, was never set, or has tiles beyond the last one.
    ``ADDRESS``: a line beyond memory, of an array or of the program. ``UNSYNCED``: there is no
    ``SYNC`` behind a ``SHIFT`` or ``BROADCAST``. ``DEADLOCK``: nothing has moved for a while.
    ``CORE_ENCODING``, ``CORE_CONTROL``, ``CORE_ADDRESS``: as ``execute_isa.Fault``. ``STREAM``: a
    stream that was never set, an index that is not below its length, or an element beyond the
    arrays; the detail is the stream's number.
    """

    NONE = 0
    COMMAND = 1
    OPERAND = 2
    LAYOUT = 3
    ADDRESS = 4
    UNSYNCED = 5
    DEADLOCK = 6
    CORE_ENCODING = 7
    CORE_CONTROL = 8
    CORE_ADDRESS = 9
    STREAM = 10


CORE_CAUSES = {
    Fault.NONE: ErrorCause.NONE,
    Fault.ENCODING: ErrorCause.CORE_ENCODING,
    Fault.CONTROL: ErrorCause.CORE_CONTROL,
    Fault.ADDRESS: ErrorCause.CORE_ADDRESS,
}
"""The error cause of each fault of the core's unit."""


WATCHDOG_CYCLES = 1 << 17
"""Cycles beyond main memory's latency in which no command, no line and no instruction of the core
ends that are a deadlock."""

EVENTS = (
    "cycles_transfer",
    "cycles_move",
    "cycles_compute",
    "cycles_core",
    "cycles_near",
    "cycles_final",
    "cycles_command",
    "commands",
    "command_lines",
    "core_instructions",
    "core_lines_read",
    "core_lines_written",
    "near_strips",
)
"""In a cycle: rows are moved, between bitlines or tiles; else a bank computes; else stream engines
run, or finish sums that arrays have begun, and do not wait for a copy; else an array is fetched, or
stored; else the core runs; else commands are fetched, handed out and waited for. A command is taken
up; a line of the program is asked for. An instruction of the core issues; it asks for a line, it
writes one, in part or whole. Stream engines begin an operation on a strip."""

TOTALS = (
    "lines_loaded",
    "lines_stored",
    "bits_within_tiles",
    "bits_between_tiles",
    "bits_between_banks",
)
"""Lines of arrays that were asked for; that were written. Bits that were moved within their tile;
to tiles of the same bank; that a bank took from another, by exchanges or streams."""


def memory_map(config: SramConfig) -> MemoryMap:
    """``memory``, a line a row; ``program``, the line in which the program begins;
    ``instructions`` of the core, where there is one."""
    windows = [
        replace(
            Window("memory", config.memory_lines, LINE_WORDS),
            rams=_channels(config, f"core.main.{MEMORY}"),
        ),
        Window("program", 1, 1),
    ]
    if config.core_lanes:
        instructions = Window("instructions", config.core_instructions, INSTRUCTION_WORDS)
        windows.append(instructions.in_shared_memory("core.instructions"))
    return MemoryMap(windows, (*EVENTS, *TOTALS), ErrorCause)


def _channels(config: SramConfig, path: str) -> RamMap:
    """The RAMs of the ``SharedMemory`` at ``path``, whose rows are a line of each channel."""
    return RamMap(
        tuple(
            tuple(f"{path}.{word_ram(channel * LINE_WORDS + word)}" for word in range(LINE_WORDS))
            for channel in range(config.memory_channels)
        )
    )

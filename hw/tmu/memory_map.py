"""A TMU core's program, memory, counters and errors in the host's address space."""

from __future__ import annotations

from gnarl.hw.lib.encoding.enum import EnumType, IntEnum
from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION_WORDS
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.machine.memory_map import MemoryMap, Window
from gnarl.hw.tmu import access_isa as isa
from gnarl.hw.tmu.config import TmuConfig


class ErrorCause(IntEnum, metaclass=EnumType, shape=8):
    """Why the core stopped.

    ``INDEX``: a stream's index is beyond its array; the detail is the layer x ``streams`` + the
    stream. ``ENCODING``, ``CONTROL``, ``ADDRESS``: as ``execute_isa.Fault``; the detail is the
    address of the instruction. ``DEADLOCK``: nothing has moved for a while. ``BOUNDS``: an upper
    bound of an ``ordered`` unit is below the lower one; the detail is the layer x ``streams``, of
    the unit's induction variable. ``LEFT``: both units are done, and words or tokens are left in
    the queues. Of several errors that a run comes to, the first one in time ends it.
    """

    NONE = 0
    INDEX = 1
    ENCODING = 2
    CONTROL = 3
    ADDRESS = 4
    DEADLOCK = 5
    BOUNDS = 6
    LEFT = 7


WATCHDOG_CYCLES = 4096
"""Cycles beyond main memory's latency in which nothing moves that are a deadlock."""

EXECUTE_EVENTS = (
    "instructions",
    "vector_instructions",
    "waits_data",
    "waits_token",
    "waits_memory",
    "waits_registers",
    "jumps_joined",
)
"""An instruction issues; none does, because the data queue is empty, the control queue, loads are
under way whose registers it needs or that there are too many of, or for a register otherwise. A
``JUMP_TOKEN`` is done as one with the instruction before it, and issues no more."""

ACCESS_EVENTS = (
    "access_waits_iteration",
    "access_waits_words",
    "access_waits_data_room",
    "access_waits_token_room",
    "access_waits_store",
    "access_waits_slot",
    "access_waits_request",
    "access_waits_memory",
)
"""The access unit has events left to do, but nothing for either queue in this cycle, because it is
not known yet whether there is another iteration, or for want of words from memory, of room in the
data queue, of room in the control queue, of memory that takes a store: at most one of these. The
innermost layer waits for a free slot of its streams' queues. A line is to be asked for, but
``requests`` are under way; memory does not take the request."""

QUEUE_EVENTS = ("vectors_queued", "words_queued", "tokens_queued")
"""A vector is put into the data queue, a word; a token into the control queue."""

MEMORY_EVENTS = (
    "l1_hits",
    "l1_merged",
    "l1_misses",
    "l2_hits",
    "l2_merged",
    "l2_misses",
    "lines_read",
    "lines_written",
    "memory_busy",
)
"""What happens in a cycle: as ``gnarl.hw.lib.lines.cache.Cache`` has it; a line is read from main
memory, or written, in part or whole; the channel of main memory moves ``bandwidth`` bytes."""

TOTALS = ("requests_in_flight", "words_in_queue")
"""Sums over the cycles of a run: lines that the access unit waits for, words in the data queue."""


def memory_map(config: TmuConfig) -> MemoryMap:
    """``layers``, ``units``, ``streams``, ``events``: rows of an access program, which read as 0;
    ``instructions`` of the execute unit; ``memory``, a line a row."""
    units = config.layers * config.lanes
    windows = [
        Window("layers", config.layers, isa.LAYER.size // 32),
        Window("units", units, isa.UNIT.size // 32),
        Window("streams", units * config.streams, isa.STREAM.size // 32),
        Window("events", isa.EVENT_STEPS, isa.EVENT.size // 32),
        Window("instructions", config.program_words, INSTRUCTION_WORDS).in_shared_memory(
            "core.instructions"
        ),
        Window("memory", config.memory_lines, LINE_WORDS).in_shared_memory(
            "core.hierarchy.main.memory"
        ),
    ]
    counters = (*EXECUTE_EVENTS, *ACCESS_EVENTS, *QUEUE_EVENTS, *MEMORY_EVENTS, *TOTALS)
    return MemoryMap(windows, counters, ErrorCause)

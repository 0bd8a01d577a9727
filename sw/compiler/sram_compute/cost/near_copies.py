"""When lines that stream engines access have been copied.

Source: docs/sram_compute.md, "Stream engines"; ``gnarl.hw.sram_compute.streams.copy_queue``.
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import QUARTERS
from gnarl.hw.sram_compute.isa import DIMENSIONS, STRIP, WORD_BITS, Opcode
from gnarl.hw.sram_compute.streams.copy_queue import QUEUED_COPIES
from gnarl.hw.sram_compute.streams.line_copier import LOAD_CYCLES, STORE_CYCLES
from gnarl.hw.sram_compute.streams.word_copy import STRIP_LINES
from gnarl.sw.compiler.sram_compute.lower.columns import column
from gnarl.sw.compiler.sram_compute.lower.command_times import loading_cycles, storing_cycles
from gnarl.sw.compiler.sram_compute.lower.records import Record
from gnarl.sw.program.jit import compiled_inner

_IS_STORE, _WORDS, _LINES = (column(Opcode.COPY, name) for name in ("is_store", "words", "lines"))
_LAST, _FIRST, _FIRST_Z, _COUNTS = (
    column(Opcode.NEAR, name) for name in ("last", "first", "first_z", "counts")
)
_OPERATION, _READS, _STREAM = (
    column(Opcode.OPERATION, name) for name in ("operation", "reads", "stream")
)
_IS_INDIRECT, _BASE, _STRIDES, _LENGTH, _SCALE = (
    column(Opcode.STREAM, name) for name in ("is_indirect", "base", "strides", "length", "scale")
)
_STORE = ExecuteOpcode.STORE.value
_HALF, _WHOLE = 1 << (WORD_BITS - 1), 1 << WORD_BITS

COPIES = np.dtype(
    [(name, np.int64) for name in ("is_store", "first", "lines", "start", "end", "line_cycles")]
)
"""The last copies, the latest one last: lines of words from ``first`` on; the cycles in which it
starts and ends, and how many come between two of its lines."""


def no_copies() -> np.ndarray:
    """``COPIES`` [copies that may be under way]."""
    return np.zeros(QUEUED_COPIES + 1, COPIES)


@compiled_inner
def queue_copy(copies: np.ndarray, clock: Record, row: np.ndarray, banks: int) -> None:
    """A ``COPY`` is queued, as soon as there is room, ``clock.cycle``."""
    clock.cycle = max(clock.cycle, copies[1].start + 1)
    before = copies[-1].end
    for place in range(len(copies) - 1):
        copies[place] = copies[place + 1]
    last = copies[-1]
    last.is_store, last.first, last.lines = row[_IS_STORE], row[_WORDS], row[_LINES]
    last.start = max(clock.cycle, before)
    at_once = min(banks, -(-last.lines // STRIP_LINES))
    quarters = QUARTERS * clock.line_cycles
    if last.is_store:
        last.line_cycles = max(clock.line_cycles, -(-STORE_CYCLES // at_once))
        last.end = last.start + storing_cycles(last.lines, STORE_CYCLES + 1, at_once, quarters)
    else:
        last.line_cycles = max(clock.line_cycles, -(-LOAD_CYCLES // at_once))
        last.end = last.start + loading_cycles(clock, last.lines, LOAD_CYCLES, at_once, quarters)


@compiled_inner
def delay_copies(copies: np.ndarray, cycle: int, cycles: int) -> None:
    """Memory does something else for so many cycles."""
    for place in range(len(copies)):
        copy = copies[place]
        if copy.end > cycle:
            copy.end += cycles
            if copy.start > cycle:
                copy.start += cycles


@compiled_inner
def copied_until(
    copies: np.ndarray,
    near: np.ndarray,
    operations: np.ndarray,
    streams: np.ndarray,
    banks: int,
    cycles: int,
) -> int:
    """The cycle before which a ``NEAR`` of so many cycles does not end, since it waits for lines
    and then goes on with the rest of its loop."""
    cycle = 0
    groups = -(-near[_COUNTS] // (STRIP * banks))
    steps = (near[_COUNTS + 2] - near[_FIRST_Z]) * groups * near[_COUNTS + 1]
    for slot in range(near[_LAST] + 1):
        operation = operations[slot]
        if operation[_OPERATION] != _STORE and not operation[_READS]:
            continue
        stream = streams[operation[_STREAM]]
        before = slot / (near[_LAST] + 1) / steps
        once = stream[_IS_INDIRECT] or steps == 1
        for is_first in range(1 if once else 2):
            rest = 1.0 if is_first or once else _rest(near, stream, banks)
            first, last = _lines(near, stream, STRIP * banks if is_first else 0)
            for place in range(len(copies)):
                copy = copies[place]
                behind = min(last + 1, copy.first + copy.lines) - copy.first
                if copy.is_store or behind <= 0 or first >= copy.first + copy.lines:
                    continue
                there = copy.end - (copy.lines - behind) * copy.line_cycles
                cycle = max(cycle, there + int(cycles * (rest - before)))
    return cycle


@compiled_inner
def slowed_until(
    copies: np.ndarray,
    near: np.ndarray,
    operations: np.ndarray,
    banks: int,
    cycle: int,
    cycles: int,
) -> int:
    """The cycle in which a ``NEAR`` of so many cycles ends that begins in one, where all engines
    wait while a line is copied to or from a bank that one of them accesses."""
    last, accesses = copies[-1], 0
    for slot in range(near[_LAST] + 1):
        operation = operations[slot]
        accesses += operation[_OPERATION] == _STORE or operation[_READS] != 0
    strips = -(-near[_COUNTS] // STRIP)
    taken = min(1.0, LOAD_CYCLES / max(1, last.line_cycles)) * min(1.0, strips / banks)
    taken *= accesses / (near[_LAST] + 1)
    meanwhile = int(max(0, last.end - cycle) * (1.0 - taken))
    if meanwhile <= cycles:
        return max(cycle, last.end) + cycles - meanwhile
    return cycle + int(cycles / (1.0 - taken))


@compiled_inner
def _signed(stride: int) -> int:
    return stride - _WHOLE if stride >= _HALF else stride


@compiled_inner
def _lines(near: np.ndarray, stream: np.ndarray, first_width: int) -> tuple[int, int]:
    """The first and the last line that a stream accesses; where ``first_width`` is not 0, up to
    this x, in the first y and z."""
    low = high = stream[_BASE]
    for dimension in range(DIMENSIONS):
        stride = _signed(stream[_STRIDES + dimension])
        first = near[_FIRST] if dimension == 0 else near[_FIRST_Z] if dimension == 2 else 0
        last = near[_COUNTS + dimension] - 1
        if first_width:
            last = min(last, first_width - 1) if dimension == 0 else first
        ends = stride * first, stride * last
        low, high = low + min(ends), high + max(ends)
    if stream[_IS_INDIRECT]:
        high += stream[_SCALE] * (stream[_LENGTH] - 1)
    turn = low % _WHOLE - low
    return (low + turn) // LINE_WORDS, (high + turn) // LINE_WORDS


@compiled_inner
def _rest(near: np.ndarray, stream: np.ndarray, banks: int) -> float:
    """The part of a loop that comes from the first access to the last line of a stream on."""
    groups = -(-near[_COUNTS] // (STRIP * banks))
    spans = near[_COUNTS + 2] - near[_FIRST_Z], groups, near[_COUNTS + 1]
    words = (
        abs(_signed(stream[_STRIDES + 2])),
        abs(_signed(stream[_STRIDES])) * STRIP * banks,
        abs(_signed(stream[_STRIDES + 1])),
    )
    rest = part = 1.0
    for place in range(DIMENSIONS):
        part /= spans[place]
        in_line = spans[place]
        if words[place]:
            in_line = min(in_line, max(1, LINE_WORDS // words[place]))
        rest -= part * (spans[place] - in_line)
    return rest

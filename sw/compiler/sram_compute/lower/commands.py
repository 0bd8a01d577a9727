"""Commands as rows of numbers, with a ``SYNC`` where one is due, and as units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import COMMANDS, UNIT_WORDS, UNITS, Opcode
from gnarl.hw.sram_compute.program import numbers
from gnarl.sw.compiler.sram_compute.lower.columns import COLUMNS, OUTPUT, column
from gnarl.sw.compiler.sram_compute.lower.command_times import CLOCK, clock, movement_cycles, spend
from gnarl.sw.compiler.sram_compute.lower.records import Record
from gnarl.sw.program.jit import compiled, compiled_inner

_BASE = column(Opcode.LAYOUT, "base")

_LAYOUT, _SYNC, _SHIFT, _BROADCAST = (
    each.value for each in (Opcode.LAYOUT, Opcode.SYNC, Opcode.SHIFT, Opcode.BROADCAST)
)
_A, _D, _N = (column(Opcode.MOVE, name) for name in ("a", "d", "n"))
"""Columns of ``MOVE``, ``SHIFT`` and ``BROADCAST``."""


_SENT = 5
"""Cycles in which the last row arrives."""


class Encoding(NamedTuple):
    """The encoding of commands, by opcode.

    offsets, widths
        int64 [opcodes, columns]: first bit and bits of each number; 0 bits where there is none.
    units
        int64 [opcodes].
    """

    offsets: np.ndarray
    widths: np.ndarray
    units: np.ndarray


def _encoding() -> Encoding:
    offsets, widths = (np.zeros((max(COMMANDS) + 1, COLUMNS), np.int64) for _ in range(2))
    units = np.zeros(len(offsets), np.int64)
    for opcode in COMMANDS:
        units[opcode] = UNITS[opcode]
        for at, number in enumerate(numbers(opcode)):
            offsets[opcode, at], widths[opcode, at] = number.offset, number.width
    return Encoding(offsets, widths, units)


ENCODING = _encoding()


MOST_ROWS = 1 << COMMANDS[Opcode.MOVE]["a"].width
"""Wordlines that commands know."""

TALLY = np.dtype(
    [
        ("commands", np.int64),
        ("clock", CLOCK),
        ("output", np.int64),
        ("is_sending", np.int64),
        ("arriving", np.int64, (MOST_ROWS,)),
    ]
)
"""How many commands there are, and about when they are over; the output of a template that what is
added is for; whether rows are on their way between tiles, and of each whether it is."""


def tally(config: SramConfig) -> np.ndarray:
    """``TALLY`` [1] of no commands."""
    found = np.zeros(1, TALLY)
    found["clock"] = clock(config)
    return found


@compiled_inner
def append(rows: np.ndarray, tally: Record, opcode: int, cycles: int) -> int:
    """The number of one more command, all of whose fields are 0, in ``rows``: int64 [n, columns and
    ``OUTPUT``].
    Rows on their way between tiles arrive before it, if it is no ``LAYOUT``. Source: Infinity
    Stream, section 4.2."""
    if tally.is_sending and opcode != _LAYOUT:
        tally.is_sending = 0
        for row in range(MOST_ROWS):
            tally.arriving[row] = 0
        _append(rows, tally, _SYNC, _SENT)
    return _append(rows, tally, opcode, cycles)


@compiled_inner
def _append(rows: np.ndarray, tally: Record, opcode: int, cycles: int) -> int:
    number = tally.commands
    for at in range(COLUMNS):
        rows[number, at] = 0
    rows[number, 0], rows[number, OUTPUT] = opcode, tally.output
    tally.commands += 1
    spend(tally.clock, opcode, cycles)
    return int(number)


@compiled_inner
def append_movement(
    rows: np.ndarray, tally: Record, movement: np.ndarray, a: int, d: int, n: int
) -> None:
    """A ``MOVE``, ``SHIFT`` or ``BROADCAST`` of n rows. What is sent waits only for rows that it
    reads."""
    opcode, cycles = movement[0], movement_cycles(tally.clock, movement, n)
    if opcode != _SHIFT and opcode != _BROADCAST:
        number = append(rows, tally, opcode, cycles)
    else:
        waits = False
        for row in range(a, a + n):
            waits |= tally.arriving[row] != 0
        if waits:
            number = append(rows, tally, opcode, cycles)
        else:
            number = _append(rows, tally, opcode, cycles)
        tally.is_sending = 1
        for row in range(d, d + n):
            tally.arriving[row] = 1
    for at in range(1, COLUMNS):
        rows[number, at] = movement[at]
    rows[number, _A], rows[number, _D], rows[number, _N] = a, d, n


@compiled
def unit_count(rows: np.ndarray, units: np.ndarray) -> int:
    """Units of all rows of commands. ``units``: as ``Encoding`` has them."""
    count = 0
    for number in range(len(rows)):
        count += units[rows[number, 0]]
    return count


@compiled
def encode(rows: np.ndarray, encoding: Encoding, units: int, first_line: int) -> np.ndarray:
    """uint32 [units, words of a unit] of rows of commands, with all arrays by ``first_line`` lines
    further on. ``ValueError`` for a number that does not fit."""
    encoded = np.zeros(units * UNIT_WORDS, np.uint32)
    place = 0
    for number in range(len(rows)):
        row = rows[number]
        opcode = row[0]
        for at in range(COLUMNS):
            width = encoding.widths[opcode, at]
            if width == 0:
                break
            value = row[at]
            if opcode == _LAYOUT and at == _BASE:
                value += first_line
            if value < 0 or value >> width:
                raise ValueError("a number of a command does not fit")
            word, shift = divmod(encoding.offsets[opcode, at], 32)
            wide = np.uint64(value) << np.uint64(shift)
            encoded[place + word] |= np.uint32(wide & np.uint64(0xFFFFFFFF))
            if shift + width > 32:
                encoded[place + word + 1] |= np.uint32(wide >> np.uint64(32))
        place += encoding.units[opcode] * UNIT_WORDS
    return encoded.reshape(-1, UNIT_WORDS)

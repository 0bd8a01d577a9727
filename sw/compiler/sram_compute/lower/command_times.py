"""Estimates the cycles that commands take, in compiled functions.

Source: docs/sram_compute.md, "The order of events". Skips save what they save at best;
banks expand patterns while they do the command before.
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.sram_compute.config import QUARTERS, SramConfig
from gnarl.hw.sram_compute.isa import COMMANDS, DIMENSIONS, LINE_UNITS, UNITS, Opcode
from gnarl.sw.compiler.sram_compute.lower.columns import column
from gnarl.sw.compiler.sram_compute.lower.records import Record
from gnarl.sw.program.jit import compiled_inner

_COMPUTE, _MOVE, _FILL, _LAYOUT = (
    each.value for each in (Opcode.COMPUTE, Opcode.MOVE, Opcode.FILL, Opcode.LAYOUT)
)
_LOAD, _STORE, _SHIFT, _BROADCAST, _COPY = (
    each.value for each in (Opcode.LOAD, Opcode.STORE, Opcode.SHIFT, Opcode.BROADCAST, Opcode.COPY)
)
_STREAM, _OPERATION = Opcode.STREAM.value, Opcode.OPERATION.value

_BITLINES, _TILES = (column(Opcode.SHIFT, name) for name in ("bitlines_start", "tiles_start"))
_BETWEEN, _PACKED = (column(Opcode.SHIFT, name) for name in ("between", "packed"))
_SENT_BITLINES, _SOURCES, _COPIES = (
    column(Opcode.BROADCAST, name) for name in ("bitlines_start", "sources_start", "copies_start")
)

_UNITS = np.zeros(max(COMMANDS) + 1, np.int64)
_UNITS[list(UNITS)] = list(UNITS.values())

_ASK = 3
"""Cycles of a fetch besides those of memory."""

_LINE_BITS = 6
_PIECE_BITS = 5
"""log2 of a line's bytes, and of the bitlines that it comes to at once."""

CLOCK = np.dtype(
    [
        (name, np.int64)
        for name in (
            "cycle",
            "taken",
            "banks",
            "units",
            "asked",
            "come",
            "came_before",
            "room",
            "release",
            "latency",
            "line_cycles",
            "channels",
            "wide_quarters",
            "in_flight",
            "arrays",
            "tiles",
            "tree_bits",
            "network_bits",
            "bitline_bits",
        )
    ]
)
"""``cycle``: when the next command may go; when banks have taken up the last one, and when they are
through with it. ``units`` of commands so far. ``asked``: lines of commands that have been asked
for; when the last of them, and the one before it, comes; since when there is ``room`` for another
one, and from when on memory is free for it. The rest says the configuration."""


def clock(config: SramConfig) -> np.ndarray:
    """``CLOCK`` [1] before all commands."""
    times = np.zeros(1, CLOCK)
    times["latency"], times["line_cycles"] = config.latency, config.line_cycles
    times["channels"] = config.memory_channels
    times["wide_quarters"] = config.wide_line_quarters
    times["in_flight"] = config.latency // config.line_cycles + 1
    times["arrays"], times["tiles"] = config.arrays, config.tiles
    times["tree_bits"], times["network_bits"] = config.tree_bits, config.network_bits
    times["bitline_bits"] = (config.bitlines - 1).bit_length()
    return times


@compiled_inner
def spend(clock: Record, opcode: int, cycles: int) -> None:
    """Time passes for a command of so many ``cycles``, which must have been fetched before."""
    consumed = clock.units // LINE_UNITS
    clock.units += _UNITS[opcode]
    last = (clock.units - 1) // LINE_UNITS
    while clock.asked <= last:
        _ask(clock)
    start = max(clock.cycle, clock.come if clock.asked == last + 1 else clock.came_before)
    if opcode == _COMPUTE or opcode == _MOVE or opcode == _FILL:
        accepted = max(start, clock.taken)
        clock.taken = max(accepted + 1, clock.banks)
        clock.banks = clock.taken + cycles
        clock.cycle = accepted + 1
    elif opcode == _LAYOUT or opcode == _COPY or opcode == _STREAM or opcode == _OPERATION:
        clock.cycle = start + 1
    else:
        is_transfer = opcode == _LOAD or opcode == _STORE
        if is_transfer:
            if clock.asked - consumed < 2 and _next_ask(clock) <= start:
                _ask(clock)
            start = max(start, clock.come)
        clock.cycle = max(start, clock.banks) + cycles + 1
        if is_transfer:
            clock.release = clock.cycle
    if clock.units // LINE_UNITS > consumed:
        clock.room = start


@compiled_inner
def _next_ask(clock: Record) -> int:
    return max(clock.come, clock.room, clock.release)


@compiled_inner
def _ask(clock: Record) -> None:
    cycle = _next_ask(clock)
    clock.came_before = clock.come
    clock.come = cycle + clock.latency + _ASK
    clock.asked += 1


@compiled_inner
def transfer_cycles(
    clock: Record,
    opcode: int,
    lines: int,
    rows: int,
    element: int,
    first_extent: int,
    chunks: int,
    wide: bool,
) -> int:
    """Cycles of a ``LOAD`` or a ``STORE`` of ``lines``, of which ``chunks`` consecutive ones are in
    different banks. ``element``: log2 of its bytes; ``first_extent``: of a tile in dimension 0;
    ``wide``: whether lines of all channels are moved at once."""
    elements = _LINE_BITS - element
    run, quarters = 0, QUARTERS * clock.line_cycles
    if wide:
        run = _PIECE_BITS
        while 1 << (elements + element - _LINE_BITS) < clock.channels:
            elements += 1
        lines, quarters = -(-lines // clock.channels), clock.wide_quarters
    while run < min(elements, _PIECE_BITS) and 2 << run <= first_extent:
        run += 1
    cycles = rows << (elements - run)
    if opcode == _LOAD:
        return loading_cycles(clock, lines, cycles, chunks, quarters)
    return storing_cycles(lines, cycles + (8 << element) - rows + 3, chunks, quarters)


@compiled_inner
def loading_cycles(clock: Record, lines: int, cycles: int, at_once: int, quarters: int) -> int:
    """Cycles to load ``lines`` from memory, which each has for so many ``quarters`` of a cycle.
    Each takes ``cycles`` at its destination, up to ``at_once`` of them at the same time."""
    fetched = max(quarters, QUARTERS * -(-(clock.latency + 1) // clock.in_flight))
    each = max(fetched, QUARTERS * -(-(cycles + 1) // at_once))
    return clock.latency + (lines - 1) * each // QUARTERS + cycles + 4


@compiled_inner
def storing_cycles(lines: int, cycles: int, at_once: int, quarters: int) -> int:
    """Cycles to store ``lines`` to memory, with arguments as in ``loading_cycles``."""
    each = max(quarters, QUARTERS * -(-cycles // at_once))
    return (lines - 1) * each // QUARTERS + cycles + 1


@compiled_inner
def movement_cycles(clock: Record, movement: np.ndarray, rows: int) -> int:
    """Cycles of a ``MOVE``, ``SHIFT`` or ``BROADCAST`` of so many rows; chooses how it goes."""
    if movement[0] == _SHIFT:
        return _chosen_shift_cycles(clock, movement, rows)
    return _broadcast_cycles(clock, movement, rows) if movement[0] == _BROADCAST else rows + 1


@compiled_inner
def _expanded(movement: np.ndarray, place: int) -> int:
    """Cycles in which a pattern is."""
    cycles = 1
    for level in range(DIMENSIONS):
        count = movement[place + 1 + DIMENSIONS + level]
        while count:
            count >>= 1
            cycles += 1
    return cycles


@compiled_inner
def _places(movement: np.ndarray, place: int) -> int:
    found = 1
    for level in range(DIMENSIONS):
        found *= movement[place + 1 + DIMENSIONS + level] + 1
    return found


@compiled_inner
def _changing(clock: Record, movement: np.ndarray, bitlines: int) -> int:
    """Bits of a row that change."""
    return int(min(_places(movement, bitlines), 1 << clock.bitline_bits))


@compiled_inner
def _crossing(clock: Record, movement: np.ndarray, bitlines: int, rows: int) -> int:
    """Cycles of rows that go to another bank."""
    return 1 + rows * -(-_changing(clock, movement, bitlines) // clock.network_bits)


@compiled_inner
def _chosen_shift_cycles(clock: Record, shift: np.ndarray, rows: int) -> int:
    """Cycles of a ``SHIFT`` of so many rows, which it makes packed where that is faster."""
    shift[_PACKED] = 0
    cycles = _shift_cycles(clock, shift, rows)
    between = shift[_BETWEEN]
    if min(between, clock.tiles - between) < clock.arrays:
        shift[_PACKED] = 1
        packed = _shift_cycles(clock, shift, rows)
        if packed < cycles:
            return packed
        shift[_PACKED] = 0
    return cycles


@compiled_inner
def _shift_cycles(clock: Record, movement: np.ndarray, rows: int) -> int:
    """A step for each place in the banks that some target has, or for ``tree_bits`` of all."""
    between = movement[_BETWEEN]
    if 2 * between > clock.tiles:
        between -= clock.tiles
    is_used = _used_places(clock, movement)
    cycles = max(_expanded(movement, _BITLINES), _expanded(movement, _TILES)) + 1
    if movement[_PACKED]:
        parts = -(-_changing(clock, movement, _BITLINES) // clock.tree_bits)
        return cycles + rows * parts * max(1, _chunks(clock, is_used, between))
    crossing = _crossing(clock, movement, _BITLINES, rows)
    cycles += clock.bitline_bits + 1
    for place in range(clock.arrays):
        if is_used[place]:
            stays = 0 <= place - between < clock.arrays
            cycles += 1 + rows if stays else crossing
    return cycles


@compiled_inner
def _chunks(clock: Record, is_used: np.ndarray, between: int) -> int:
    """Parts of what all arrays of a bank send in which some bits go to another bank."""
    found, last = 0, -1
    for place in range(clock.arrays):
        chunk = place * clock.tree_bits // clock.network_bits
        if is_used[place] and chunk > last and not 0 <= place - between < clock.arrays:
            found, last = found + 1, chunk
    return found


@compiled_inner
def _used_places(clock: Record, movement: np.ndarray) -> np.ndarray:
    """Places in the banks that some target of a ``SHIFT`` has: bool [arrays]."""
    stride, count = movement[_TILES + 1 : _TILES + 4], movement[_TILES + 4 : _TILES + 7]
    arrays = clock.arrays
    is_used = np.zeros(arrays, np.bool_)
    left = arrays
    for z in range(min(count[2] + 1, arrays)):
        for y in range(min(count[1] + 1, arrays)):
            for x in range(min(count[0] + 1, arrays)):
                tile = movement[_TILES] + x * stride[0] + y * stride[1] + z * stride[2]
                slot = tile % arrays
                if not is_used[slot]:
                    is_used[slot] = True
                    left -= 1
                if not left:
                    return is_used
    return is_used


@compiled_inner
def _broadcast_cycles(clock: Record, movement: np.ndarray, rows: int) -> int:
    """A step for each source, or where all its copies are in one bank, for all that are the same
    array. Copies are taken to be as far away as the first one, the last one, and all between."""
    crossing = _crossing(clock, movement, _SENT_BITLINES, rows)
    cycles = max(
        _expanded(movement, _SENT_BITLINES),
        _expanded(movement, _SOURCES),
        _expanded(movement, _COPIES),
    )
    cycles += clock.bitline_bits + 2
    first = movement[_COPIES]
    if 2 * first > clock.tiles:
        first -= clock.tiles
    last = first
    for level in range(DIMENSIONS):
        last += movement[_COPIES + 1 + level] * movement[_COPIES + 1 + DIMENSIONS + level]
    stride, count = movement[_SOURCES + 1 : _SOURCES + 4], movement[_SOURCES + 4 : _SOURCES + 7]
    is_done = np.zeros(clock.arrays, np.bool_)
    for z in range(count[2] + 1):
        for y in range(count[1] + 1):
            for x in range(count[0] + 1):
                tile = movement[_SOURCES] + x * stride[0] + y * stride[1] + z * stride[2]
                slot = tile % clock.arrays
                nearest, farthest = (slot + first) // clock.arrays, (slot + last) // clock.arrays
                if not is_done[slot]:
                    is_done[slot] = nearest == farthest
                    stays = nearest == 0 and farthest == 0
                    cycles += 1 + rows if stays else crossing
    return cycles

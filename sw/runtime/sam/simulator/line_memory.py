"""A memory of lines: its channels, and the ports in front of them, as ``gnarl.hw.sam.memory`` has
them with parts of ``gnarl.hw.lib.lines``.

What happens in a cycle depends on what there was when it began. So whoever takes comes before those
who give, and what was taken in this cycle still takes up its room.
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import inlined_integers, inner_integers
from gnarl.sw.runtime.sam.simulator.layout import (
    AHEAD,
    ANSWERED,
    AWAKE,
    BASE,
    CHANNEL,
    CHANNEL_FREE,
    CHANNEL_HEAD,
    CHANNEL_LINES,
    CHANNELS,
    COME,
    FETCH,
    FETCHED,
    FETCHES,
    FIRST_CHANNEL,
    FIRST_PORT,
    FIRST_REQUEST,
    FIRST_SLOT,
    FIRST_UNDER_WAY,
    FIRST_WAITING,
    FREE,
    GRANTED,
    IN_FLIGHT,
    KEPT,
    LAST_LINE,
    LAST_MOVE,
    LEAVES,
    LEAVING,
    LINE_CYCLES,
    LINE_END,
    LINE_LATENCY,
    LINE_SHIFT,
    LINES,
    LINES_LEFT,
    MOST_WAITING,
    NEXT_LINE,
    NEXT_SLOT,
    OLDEST,
    OWNER,
    PORT_HEAD,
    PORTS,
    QUEUE_OF_TWO,
    QUEUED,
    READS,
    REQUESTS,
    ROW,
    SENT,
    SHOWN,
    SLOT,
    SLOT_DUE,
    SLOT_HERE,
    SLOT_LINE,
    SLOTS,
    TURN,
    TURN_FIRST,
    TURN_LATER,
    UNDER_WAY,
    UNQUEUED,
    USED,
    WAITING,
    WAITING_HEAD,
    WANTS,
    WRITING,
)
from gnarl.sw.runtime.sam.simulator.steps import wrap

UNDER_WAY_FIELDS = 3
"""Of a line that is read: the cycle of its answer, its port, its slot."""
WAITING_FIELDS = 3
"""Of a row that waits for its answer: its number, the slot of its line, the cycle that it came."""

ANSWER_FIELDS = 2
"""Of a row that is answered: its number, and the cycle before it is."""

_NONE = -1
_NEVER = 1 << 62
_QUEUE = 2
"""Requests that wait in front of a channel, and lines of a port in front of it."""


@inlined_integers
def _begin(s: np.ndarray, cycle: int) -> bool:
    """What the memory does with what was asked of it before, and with what ports want of it;
    whether there is something to do."""
    first, size = s[FIRST_CHANNEL], s[CHANNELS] * CHANNEL
    is_busy = False
    for channel in range(first, first + size, CHANNEL):
        _answer(s, channel, cycle)
        _accept(s, channel, cycle)
        s[channel + TURN_FIRST] = s[channel + TURN_LATER] = _NONE
    for number in range(s[PORTS]):
        _ask(s, number, s[s[FIRST_PORT] + number])
    for channel in range(first, first + size, CHANNEL):
        _take_turn(s, channel, cycle)
        is_busy |= s[channel + UNDER_WAY] > 0 or s[channel + QUEUED] > 0
        is_busy |= s[channel + CHANNEL_FREE] > cycle
    drains = s[WRITING] == 0
    for number in range(s[PORTS]):
        port = s[s[FIRST_PORT] + number]
        if s[port + SLOTS]:
            _read(s, port, drains, cycle)
            is_busy |= s[port + WAITING] > 0 and not s[port + SHOWN]
            is_busy |= s[port + LINES_LEFT] > 0 and not drains
            is_busy |= s[port + FETCHES] > 0
        else:
            _write(s, port, drains, cycle)
            is_busy |= s[port + LEAVES] > 0 or (drains and s[port + USED] > 0)
    return is_busy


@inlined_integers
def _end(s: np.ndarray, cycle: int) -> None:
    """Shows blocks their next answers."""
    for number in range(s[PORTS]):
        port = s[s[FIRST_PORT] + number]
        if s[port + SLOTS]:
            _show(s, port, cycle)


@inlined_integers
def _is_settled(s: np.ndarray, cycle: int) -> bool:
    """No channel has anything to do when a cycle begins, and no port keeps what was written."""
    first = s[FIRST_CHANNEL]
    for channel in range(first, first + s[CHANNELS] * CHANNEL, CHANNEL):
        if s[channel + UNDER_WAY] or s[channel + QUEUED] or s[channel + CHANNEL_FREE] > cycle:
            return False
    for number in range(s[PORTS]):
        port = s[s[FIRST_PORT] + number]
        if not s[port + SLOTS] and (s[port + USED] or s[port + LEAVES]):
            return False
    return True


@inlined_integers
def _answer(s: np.ndarray, channel: int, cycle: int) -> None:
    """The oldest line that is due comes to its port, unless that has one of a lower channel."""
    if not s[channel + UNDER_WAY]:
        return
    at = s[channel + FIRST_UNDER_WAY] + s[channel + CHANNEL_HEAD] * UNDER_WAY_FIELDS
    port = s[at + 1]
    if s[at] > cycle or s[port + COME] == cycle:
        return
    s[port + COME] = cycle
    s[s[port + FIRST_SLOT] + s[at + 2] * SLOT + SLOT_HERE] = cycle + 1
    s[channel + CHANNEL_HEAD] = wrap(s[channel + CHANNEL_HEAD] + 1, s[IN_FLIGHT])
    s[channel + UNDER_WAY] -= 1
    s[channel + ANSWERED] = cycle


@inlined_integers
def _accept(s: np.ndarray, channel: int, cycle: int) -> None:
    """A channel begins with the request that waits, as ``LineMemory`` does."""
    under_way = s[channel + UNDER_WAY] + (s[channel + ANSWERED] == cycle)
    is_free = s[channel + CHANNEL_FREE] <= cycle and under_way < s[IN_FLIGHT]
    if is_free and s[channel + QUEUED]:
        queue = channel + QUEUE_OF_TWO
        if s[queue + 1] != _NONE:
            place = wrap(s[channel + CHANNEL_HEAD] + s[channel + UNDER_WAY], s[IN_FLIGHT])
            at = s[channel + FIRST_UNDER_WAY] + place * UNDER_WAY_FIELDS
            s[at], s[at + 1], s[at + 2] = cycle + s[LINE_LATENCY], s[queue], s[queue + 1]
            s[channel + UNDER_WAY] += 1
        s[queue], s[queue + 1] = s[queue + 2], s[queue + 3]
        s[channel + QUEUED] -= 1
        s[channel + UNQUEUED] = cycle
        s[channel + CHANNEL_FREE] = cycle + s[LINE_CYCLES]
        s[channel + CHANNEL_LINES] += 1
    if s[channel + CHANNEL_FREE] > cycle:
        s[LAST_MOVE] = cycle


@inlined_integers
def _ask(s: np.ndarray, number: int, port: int) -> None:
    """A port asks the channel of its line for a turn."""
    if not s[port + FETCHES]:
        return
    line = s[port + FETCH] if s[port + SLOTS] else s[port + LEAVING]
    channel = s[FIRST_CHANNEL] + (line & s[CHANNELS] - 1) * CHANNEL
    if s[channel + TURN_FIRST] == _NONE:
        s[channel + TURN_FIRST] = number
    if s[channel + TURN_LATER] == _NONE and number > s[channel + TURN]:
        s[channel + TURN_LATER] = number


@inlined_integers
def _take_turn(s: np.ndarray, channel: int, cycle: int) -> None:
    """One of the ports that ask gives its line to the queue of a channel, as ``LineMux`` does."""
    queued = s[channel + QUEUED]
    number = s[channel + TURN_FIRST]
    if number == _NONE or queued + (s[channel + UNQUEUED] == cycle) >= _QUEUE:
        return
    if s[channel + TURN_LATER] != _NONE:
        number = s[channel + TURN_LATER]
    s[channel + TURN] = number
    port = s[s[FIRST_PORT] + number]
    at = channel + QUEUE_OF_TWO + 2 * queued
    s[at] = port
    if s[port + SLOTS]:
        s[at + 1] = s[port + FETCH + 1]
        s[port + FETCH], s[port + FETCH + 1] = s[port + FETCH + 2], s[port + FETCH + 3]
    else:
        s[at + 1] = _NONE
    s[port + FETCHES] -= 1
    s[port + FETCHED] = cycle
    s[channel + QUEUED] = queued + 1
    s[port + LINES] += 1


@inlined_integers
def _slot_of(s: np.ndarray, port: int, line: int) -> int:
    """The slot that a port has given to a line; -1 if it has none."""
    first = s[port + FIRST_SLOT]
    for slot in range(s[port + SLOTS]):
        if s[first + slot * SLOT + SLOT_LINE] == line:
            return slot
    return _NONE


@inner_integers
def _read(s: np.ndarray, port: int, drains: bool, cycle: int) -> None:
    """A port accepts a row, or asks for a line ahead, as ``LineReader`` does."""
    asks = s[port + WANTS] != 0 and s[port + WAITING] < s[port + MOST_WAITING]
    if not asks and not s[port + LINES_LEFT]:
        return
    next_slot = s[port + NEXT_SLOT]
    at = s[port + FIRST_SLOT] + next_slot * SLOT
    has_room = s[port + FETCHES] + (s[port + FETCHED] == cycle) < _QUEUE
    is_free = has_room and s[at + SLOT_DUE] == 0 and s[at + SLOT_HERE] <= cycle
    line = s[port + BASE] + (s[port + ROW] >> s[port + LINE_SHIFT])
    found = _slot_of(s, port, line) if asks else _NONE
    misses = asks and found == _NONE

    moves_on = False
    if s[port + LINES_LEFT] and not drains and not misses:
        ahead = s[port + NEXT_LINE]
        if _slot_of(s, port, ahead) != _NONE:
            moves_on = True
        elif is_free and not (asks and found == next_slot):
            moves_on = True
            _give_slot(s, port, ahead)
    if asks and (found != _NONE or is_free):
        if misses:
            found = next_slot
            _give_slot(s, port, line)
        _wait(s, port, found, cycle)
        if line != s[port + LAST_LINE]:
            last = s[port + LAST_LINE]
            is_next = last == _NONE or line == last + 1
            s[port + LAST_LINE], s[port + NEXT_LINE] = line, line + 1
            s[port + LINES_LEFT] = min(s[AHEAD], s[port + LINE_END] - line - 1) if is_next else 0
            return
    if moves_on:
        s[port + NEXT_LINE] += 1
        s[port + LINES_LEFT] -= 1


@inlined_integers
def _give_slot(s: np.ndarray, port: int, line: int) -> None:
    slot = s[port + NEXT_SLOT]
    at = s[port + FIRST_SLOT] + slot * SLOT
    s[at + SLOT_LINE], s[at + SLOT_HERE] = line, _NEVER
    fetch = port + FETCH + 2 * s[port + FETCHES]
    s[fetch], s[fetch + 1] = line, slot
    s[port + FETCHES] += 1
    s[port + NEXT_SLOT] = wrap(slot + 1, s[port + SLOTS])


@inlined_integers
def _wait(s: np.ndarray, port: int, slot: int, cycle: int) -> None:
    """The row that a port wants is accepted, and waits for its line."""
    s[s[port + FIRST_SLOT] + slot * SLOT + SLOT_DUE] += 1
    place = wrap(s[port + WAITING_HEAD] + s[port + WAITING], s[port + MOST_WAITING])
    at = s[port + FIRST_WAITING] + place * WAITING_FIELDS
    s[at], s[at + 1], s[at + 2] = s[port + ROW], slot, cycle
    s[port + WAITING] += 1
    # As for what is granted in ``memory``.
    s[port + READS] += 1
    s[port + SENT] = 1
    s[port + WANTS] = 0
    s[s[port + OWNER] + AWAKE] = cycle + 1
    s[LAST_MOVE] = cycle


@inlined_integers
def _show(s: np.ndarray, port: int, cycle: int) -> None:
    """The oldest row that waits is read from its slot, once the answer before it is taken."""
    if s[port + REQUESTS]:
        return
    s[port + SHOWN] = 0
    if not s[port + WAITING]:
        return
    at = s[port + FIRST_WAITING] + s[port + WAITING_HEAD] * WAITING_FIELDS
    slot = s[port + FIRST_SLOT] + s[at + 1] * SLOT
    if s[at + 2] < cycle and s[slot + SLOT_HERE] <= cycle:
        answer = s[port + FIRST_REQUEST] + s[port + PORT_HEAD] * ANSWER_FIELDS
        s[answer], s[answer + 1] = s[at], cycle
        s[port + REQUESTS] = s[port + SHOWN] = 1
        s[slot + SLOT_DUE] -= 1
        s[port + WAITING_HEAD] = wrap(s[port + WAITING_HEAD] + 1, s[port + MOST_WAITING])
        s[port + WAITING] -= 1
        s[s[port + OWNER] + AWAKE] = cycle + 1


@inner_integers
def _write(s: np.ndarray, port: int, drains: bool, cycle: int) -> None:
    """A port keeps a word, or lets a line go, as ``WriteBuffer`` does."""
    used, oldest = s[port + USED], s[port + OLDEST]
    is_leaving = s[port + LEAVES] != 0 or s[port + FETCHED] == cycle
    entry = s[port + FREE]
    is_full = used == 0b11
    writes = begins = must_leave = False
    if s[port + WANTS]:
        line = s[port + BASE] + (s[port + ROW] >> s[port + LINE_SHIFT])
        is_kept = False
        for each in range(2):
            if used >> each & 1 and s[port + KEPT + each] == line:
                is_kept, entry = True, each
        begins = not is_kept and not is_full
        writes = is_kept or begins
        must_leave = not is_kept and is_full
        if writes:
            s[port + GRANTED] = cycle
        if begins:
            s[port + KEPT + entry] = line
    is_used = used >> oldest & 1 != 0
    if (must_leave or drains) and is_used and not is_leaving and not (writes and entry == oldest):
        s[port + LEAVES], s[port + LEAVING] = 1, s[port + KEPT + oldest]
        s[port + OLDEST] = oldest ^ 1
        used &= ~(1 << oldest)
    if begins:
        used |= 1 << entry
        s[port + FREE] = entry ^ 1
    s[port + USED] = used


BEGIN, END, IS_SETTLED = range(3)
"""What ``lines`` does."""


@inner_integers
def lines(s: np.ndarray, cycle: int, what: int) -> bool:
    """``_begin``, ``_end`` or ``_is_settled``: one function, which is too long to be compiled into
    the loop that calls it, and makes that slower without a memory of lines."""
    if what == BEGIN:
        return _begin(s, cycle)
    if what == IS_SETTLED:
        return _is_settled(s, cycle)
    _end(s, cycle)
    return True

"""The core's cache, its write buffer and main memory behind it, in a cycle.

What each part does follows from what it is at the cycle's begin; what it is in the next one shows
then. Source: ``gnarl.hw.lib.lines``: ``cache``, ``fetches``, ``write_buffer``, ``line_memory``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.lib.lines.lane_cache_size import READS_PER_LOAD, REQUESTS, WAYS, WRITTEN_LINES
from gnarl.hw.lib.lines.line_size import LINE_BYTES
from gnarl.sw.program.jit import inner

NEVER = 1 << 62
"""A cycle behind all others."""

_ANSWERS = 2
"""Room for answers of the cache."""

_NOWHERE, _HELD, _WRITTEN, _PASSES = range(4)
"""Which way a request goes at the write buffer: there is none; it waits; into it; past it."""

(
    FREE,
    READY,
    DRAINS,
    LINE_CYCLES,
    LATENCY,
    LINES_READ,
    LINES_WRITTEN,
    COME,
    UNDER_WAY,
    LOOKS,
    ASKED_LINE,
    ASKED_WRITE,
    ASKED_TAG,
    HITS,
    HIT_TAG,
    HIT_IS_NEXT,
    USES,
    ANSWER,
    ANSWERS,
    REQUEST,
    WAITING,
    OLDEST,
    KEPT,
    IS_LEAVING,
) = range(24)
"""In ``at``: cycles from which on memory takes a request, the cache is ready, and the write buffer
drains; of the configuration; lines read and written; the oldest read in memory, and how many; the
request in the cache's second stage; the hit in its third, and whether it goes before lines that
come; requests that made a line the last used; of queues the oldest answer, and how many, and the
oldest request, and how many; of written lines the oldest, how many, and whether one leaves."""


class Lines(NamedTuple):
    """The state of a cache and the memory behind it.

    at
        int64: numbers.
    keys, used
        int64 [sets, ways]: the line held, -1 for none; when it was used last, counted.
    places
        int64 [fetches]: set and way that a fetch under way fills; -1: there is none.
    waits, tags
        int64 [reads]: the fetch that each read waits for, -1 for none, and its tag.
    coming
        int64 [reads under way, 2]: the cycle in which memory offers the line, and its fetch.
    answers
        int64 [n]: tags that wait.
    requests
        int64 [n, 3]: line, whether it is written, and the fetch.
    kept
        int64 [n]: lines that are written, and wait.
    """

    at: np.ndarray
    keys: np.ndarray
    used: np.ndarray
    places: np.ndarray
    waits: np.ndarray
    tags: np.ndarray
    coming: np.ndarray
    answers: np.ndarray
    requests: np.ndarray
    kept: np.ndarray


def empty_lines(
    *, cache_bytes: int, loads: int, latency: int, line_cycles: int, free: int, empties: int
) -> Lines:
    """The lines as a program finds them: memory takes requests from cycle ``free`` on; the cache
    was reset last before cycle ``empties``, and empties a set a cycle before it takes any."""
    shape = cache_bytes // (LINE_BYTES * WAYS), WAYS
    at = np.zeros(IS_LEAVING + 1, np.int64)
    at[FREE], at[READY], at[DRAINS] = free, empties + shape[0], NEVER
    at[LATENCY], at[LINE_CYCLES] = latency, line_cycles
    reads = READS_PER_LOAD * loads
    return Lines(
        at,
        np.full(shape, -1, np.int64),
        np.zeros(shape, np.int64),
        np.full(loads, -1, np.int64),
        np.full(reads, -1, np.int64),
        np.zeros(reads, np.int64),
        np.zeros((latency // line_cycles + 1, 2), np.int64),
        np.zeros(_ANSWERS, np.int64),
        np.zeros((REQUESTS, 3), np.int64),
        np.zeros(WRITTEN_LINES, np.int64),
    )


@inner
def are_idle(lines: Lines, now: int) -> bool:
    """All reads are answered, and all that was written is in memory."""
    at = lines.at
    some = at[LOOKS] + at[HITS] + at[ANSWERS] + at[WAITING] + at[UNDER_WAY]
    some += at[KEPT] + at[IS_LEAVING]
    for fetch in range(len(lines.places)):
        some += lines.places[fetch] >= 0
    return some == 0 and at[FREE] <= now


@inner
def next_change(lines: Lines, now: int) -> int:
    """The next cycle in which something may change, where nothing did in this one."""
    at = lines.at
    found = NEVER
    for number in (FREE, READY, DRAINS):
        if now < at[number] < found:
            found = at[number]
    if at[UNDER_WAY] and now < lines.coming[at[COME], 0] < found:
        found = lines.coming[at[COME], 0]
    return found


@inner
def step(
    lines: Lines, now: int, line: int, is_write: bool, tag: int, takes_answer: bool
) -> tuple[bool, bool]:
    """A cycle, in which a request is offered for a ``line``, if it is not -1, and an answer is
    taken if there is one and ``takes_answer``. Whether the request is taken, and whether anything
    changes."""
    at = lines.at
    is_free = at[FREE] <= now and at[UNDER_WAY] < len(lines.coming)
    come = _come(lines, now)
    can_answer = at[ANSWERS] < _ANSWERS
    has_request, can_request = at[WAITING] > 0, at[WAITING] < REQUESTS

    # The third stage: a hit, or a line that comes and the first read that waits for it.
    gives_hit = at[HITS] > 0 and (come < 0 or at[HIT_IS_NEXT] > 0)
    serves = come >= 0 and can_answer and not gives_hit
    served, ends = _first_waiting(lines, come) if serves else (-1, False)
    hit_ends = can_answer and gives_hit
    changes = hit_ends or serves

    decided = False
    hits = False
    if at[LOOKS]:
        free_wait = first_free(lines.waits)
        decided, hits = _decide(lines, come, ends, can_request, hit_ends, free_wait)
        changes |= decided

    if takes_answer:
        changes |= _drop_answer(lines)
    if can_answer:
        _give_answer(lines, come >= 0, gives_hit, served)
    if hits:
        at[HITS], at[HIT_TAG] = 1, at[ASKED_TAG]
    elif hit_ends:
        at[HITS] = 0
    if serves:
        _end_wait(lines, come, served, ends)

    takes = _look_next(lines, now, decided, line, is_write, tag)
    changes |= takes
    changes |= _write_buffer(lines, now, has_request, is_free)
    return takes, changes


@inner
def _come(lines: Lines, now: int) -> int:
    """The fetch whose line memory offers; -1 if it offers none."""
    at = lines.at
    if at[UNDER_WAY] == 0 or lines.coming[at[COME], 0] > now:
        return -1
    return lines.coming[at[COME], 1]


@inner
def _drop_answer(lines: Lines) -> bool:
    """The oldest answer is taken, if there is one. Whether there is."""
    at = lines.at
    if at[ANSWERS] == 0:
        return False
    at[ANSWER] = (at[ANSWER] + 1) % _ANSWERS
    at[ANSWERS] -= 1
    return True


@inner
def _look_next(lines: Lines, now: int, decided: bool, line: int, is_write: bool, tag: int) -> bool:
    """The second stage takes a request that is offered, as soon as it is free, or what it had is
    ``decided``. Whether it does."""
    at = lines.at
    takes = line >= 0 and at[READY] <= now and (not at[LOOKS] or decided)
    if takes:
        at[LOOKS], at[ASKED_LINE], at[ASKED_WRITE], at[ASKED_TAG] = 1, line, is_write, tag
    elif decided:
        at[LOOKS] = 0
    return takes


@inner
def _first_waiting(lines: Lines, fetch: int) -> tuple[int, bool]:
    """The first read that waits for a fetch, and whether no other does."""
    served = -1
    for number in range(len(lines.waits)):
        if lines.waits[number] == fetch:
            if served >= 0:
                return served, False
            served = number
    return served, True


@inner
def _give_answer(lines: Lines, has_come: bool, gives_hit: bool, served: int) -> None:
    """A hit, or the line of a read that is served, is answered, if there is one."""
    at = lines.at
    if has_come or at[HITS] > 0:
        place = (at[ANSWER] + at[ANSWERS]) % _ANSWERS
        lines.answers[place] = at[HIT_TAG] if gives_hit else lines.tags[served]
        at[ANSWERS] += 1
    at[HIT_IS_NEXT] = at[HITS] > 0 and not gives_hit


@inner
def _end_wait(lines: Lines, fetch: int, served: int, ends: bool) -> None:
    """A read waits no longer for a fetch, which ``ends`` with the last one."""
    at = lines.at
    lines.waits[served] = -1
    if ends:
        lines.places[fetch] = -1
        at[COME] = (at[COME] + 1) % len(lines.coming)
        at[UNDER_WAY] -= 1


@inner
def first_free(numbers: np.ndarray) -> int:
    """The place of the first -1; -1 if there is none."""
    for number in range(len(numbers)):
        if numbers[number] < 0:
            return number
    return -1


@inner
def _decide(
    lines: Lines, come: int, ends: bool, can_request: bool, hit_ends: bool, free_wait: int
) -> tuple[bool, bool]:
    """What becomes of the request in the second stage, if it leaves that: whether it does, and
    whether it hits. ``ends``: the fetch ``come`` fills its place."""
    at = lines.at
    line = at[ASKED_LINE]
    row = line % len(lines.keys)
    keys, used = lines.keys[row], lines.used[row]
    way, is_present = _way(keys, used, line)
    place = row * WAYS + way
    fetch = _last_with(lines.places, place)

    if at[ASKED_WRITE]:
        is_filled = is_present and (fetch >= 0 or ends)
        return _write(lines, can_request and not is_filled), False
    hits = is_present and fetch < 0
    if hits:
        if at[HITS] and not hit_ends:
            return False, False
    elif free_wait < 0:
        return False, False
    elif is_present:
        if come == fetch:
            return False, False
        lines.waits[free_wait], lines.tags[free_wait] = fetch, at[ASKED_TAG]
    elif not can_request or fetch >= 0 or not _fetch(lines, place, free_wait):
        return False, False
    at[USES] += 1
    keys[way], used[way] = line, at[USES]
    return True, hits


@inner
def _write(lines: Lines, can_write: bool) -> bool:
    """The write in the second stage goes on, if it can. Whether it does."""
    if can_write:
        _request(lines, lines.at[ASKED_LINE], True, 0)
    return can_write


@inner
def _fetch(lines: Lines, place: int, wait: int) -> bool:
    """The line of the request in the second stage is fetched to a place, and the read waits for
    it. Whether another fetch can be under way."""
    at = lines.at
    free = first_free(lines.places)
    if free < 0:
        return False
    lines.places[free] = place
    lines.waits[wait], lines.tags[wait] = free, at[ASKED_TAG]
    _request(lines, at[ASKED_LINE], False, free)
    return True


@inner
def _way(keys: np.ndarray, used: np.ndarray, line: int) -> tuple[int, bool]:
    """The way of a set that holds a line, or is to hold it; and whether it does."""
    way = _last_with(keys, line)
    if way >= 0:
        return way, True
    way = 0
    for number in range(1, WAYS):
        if used[number] < used[way]:
            way = number
    return way, False


@inner
def _last_with(numbers: np.ndarray, number: int) -> int:
    """The last place of a number; -1 if there is none."""
    found = -1
    for place in range(len(numbers)):
        if numbers[place] == number:
            found = place
    return found


@inner
def _request(lines: Lines, line: int, is_write: bool, fetch: int) -> None:
    at = lines.at
    place = (at[REQUEST] + at[WAITING]) % REQUESTS
    lines.requests[place, 0], lines.requests[place, 1] = line, is_write
    lines.requests[place, 2] = fetch
    at[WAITING] += 1


@inner
def _write_buffer(lines: Lines, now: int, has_request: bool, is_free: bool) -> bool:
    """A cycle of the write buffer, and of memory below it, which takes a request if it
    ``is_free``. Whether anything changes."""
    at = lines.at
    asked = lines.requests[at[REQUEST]]
    kept, way = -1, _NOWHERE
    if has_request:
        kept = _kept_place(lines, asked[0])
        way = _way_on(lines, kept, asked[1] > 0)
    writes, passes = way == _WRITTEN, way == _PASSES
    is_leaving = at[IS_LEAVING] > 0
    takes = writes or (passes and is_free)
    goes = is_free and (passes or is_leaving)
    # What is offered below stays until it is taken. A write to the oldest goes first.
    stays = (passes and not is_free) or (writes and kept == at[OLDEST])
    leaves = _can_leave(lines, now, way == _HELD) and not stays

    if writes:
        _keep(lines, kept, asked[0])
    if goes:
        _begin_memory(lines, now, passes, asked[2])
    if takes:
        at[REQUEST] = (at[REQUEST] + 1) % REQUESTS
        at[WAITING] -= 1
    _leave(lines, leaves, is_free)
    return takes or leaves or goes


@inner
def _way_on(lines: Lines, kept: int, is_write: bool) -> int:
    """The way of a request whose line the buffer has at ``kept``, or nowhere: -1."""
    if is_write:
        return _WRITTEN if kept >= 0 or lines.at[KEPT] < WRITTEN_LINES else _HELD
    return _PASSES if kept < 0 and not lines.at[IS_LEAVING] else _HELD


@inner
def _keep(lines: Lines, kept: int, line: int) -> None:
    """A line is written to the buffer, which may have it at ``kept`` already."""
    at = lines.at
    if kept < 0:
        lines.kept[(at[OLDEST] + at[KEPT]) % WRITTEN_LINES] = line
        at[KEPT] += 1


@inner
def _leave(lines: Lines, leaves: bool, is_free: bool) -> None:
    """The oldest written line leaves the buffer, if it does, for memory below, which takes the one
    before if it ``is_free``."""
    at = lines.at
    if leaves:
        at[OLDEST] = (at[OLDEST] + 1) % WRITTEN_LINES
        at[KEPT] -= 1
        at[IS_LEAVING] = 1
    elif is_free:
        at[IS_LEAVING] = 0


@inner
def _can_leave(lines: Lines, now: int, is_held: bool) -> bool:
    """Whether the oldest line has a reason to leave the write buffer, as for a request that
    ``is_held`` up, and none leaves already."""
    at = lines.at
    is_wanted = is_held or at[DRAINS] <= now
    return is_wanted and at[KEPT] > 0 and not at[IS_LEAVING]


@inner
def _kept_place(lines: Lines, line: int) -> int:
    """Where the write buffer has a line; -1 if it does not."""
    at = lines.at
    found = -1
    for number in range(at[KEPT]):
        place = (at[OLDEST] + number) % WRITTEN_LINES
        if lines.kept[place] == line:
            found = place
    return found


@inner
def _begin_memory(lines: Lines, now: int, reads: bool, fetch: int) -> None:
    """Memory begins a line: the read of a fetch, or a write."""
    at = lines.at
    at[FREE] = now + at[LINE_CYCLES]
    if not reads:
        at[LINES_WRITTEN] += 1
        return
    place = (at[COME] + at[UNDER_WAY]) % len(lines.coming)
    lines.coming[place, 0], lines.coming[place, 1] = now + at[LATENCY], fetch
    at[UNDER_WAY] += 1
    at[LINES_READ] += 1

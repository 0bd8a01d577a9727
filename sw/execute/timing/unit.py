"""The core's loads, stores and late results, in a cycle, in front of its cache.

Source: ``gnarl.hw.lib.execute``: ``load_store``, ``result_bus``, ``divider``;
``gnarl.hw.lib.lines``: ``line_splitter``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import MASK_REGISTERS, SCALAR_REGISTERS, VECTOR_REGISTERS
from gnarl.hw.lib.encoding.execute_times import WAITING
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.sw.execute.timing import lines as cache
from gnarl.sw.execute.timing.lines import ANSWER, ANSWERS, NEVER, Lines
from gnarl.sw.execute.timing.table import LOADS, PREFETCHES, STORES
from gnarl.sw.execute.trace import MOST_LANES
from gnarl.sw.program.jit import inner

BUS = 128
"""Cycles of the result bus that are remembered: more than any result takes."""

_TO_QUEUE = 3
"""Cycles from a request's issue until it is offered."""

(
    NOW,
    WAKES,
    NEXT,
    STEERED,
    OLDEST,
    COUNT,
    HALF_ASKED,
    HAS_LINE,
    LINE_TAG,
    DIVIDED,
    DIVIDER_DST,
    DIVIDER_FREE,
    RELEASED,
) = range(13)
"""In ``at``: the cycle up to which memory has been followed, and up to which nothing happens there;
the first in which the next instruction may issue; when the last one issued that steers; of requests
the oldest, and how many; whether its first line was asked for, and the second not; whether the
splitter has a line that came, and its tag; when the divider has its result, its register, and when
it takes the next; how often a register or a place for a request was set free."""

VISIBLE, ADDRESS, WANTED, USE, TAG = range(5)
"""Columns of requests: the cycle from which on it is offered, address and lanes, ``MEMORY`` of the
table, and a load's number."""

_TAGS = 2
"""Tags of lines: whether a prefetch asked for it, and above that the load."""


class Core(NamedTuple):
    """The state of the core's pipeline.

    at
        int64: numbers.
    ready, as_sum, as_addend
        int64 [registers]: from when on each can be read; as a, by adders; as c of ``FMUL_ADD``.
    read_late
        int64 [registers]: when the last ``FMUL_ADD`` issued that reads it as c.
    mask_ready
        int64 [masks]: from when on it can be read.
    bus
        int64 [``BUS``]: the last cycle of that number, modulo, that is taken.
    requests
        int64 [n, 5]: that wait for the cache, in a ring.
    loads
        int64 [n]: the register that each load under way is for; -1: there is none.
    has_both, has_half
        int64 [n]: whether a load wants two lines, and has one of them.
    lines
        the cache, and what is behind it.
    """

    at: np.ndarray
    ready: np.ndarray
    as_sum: np.ndarray
    as_addend: np.ndarray
    read_late: np.ndarray
    mask_ready: np.ndarray
    bus: np.ndarray
    requests: np.ndarray
    loads: np.ndarray
    has_both: np.ndarray
    has_half: np.ndarray
    lines: Lines


def new_core(lines: Lines, loads: int, first: int) -> Core:
    """The core as a program finds it whose first instruction may issue in cycle ``first``."""
    at = np.zeros(RELEASED + 1, np.int64)
    at[NOW] = at[NEXT] = first
    at[STEERED] = at[DIVIDER_FREE] = first - BUS
    at[DIVIDED] = NEVER
    registers = SCALAR_REGISTERS + VECTOR_REGISTERS
    return Core(
        at,
        np.zeros(registers, np.int64),
        np.zeros(registers, np.int64),
        np.zeros(registers, np.int64),
        np.full(registers, first - BUS, np.int64),
        np.zeros(MASK_REGISTERS, np.int64),
        np.full(BUS, -1, np.int64),
        np.zeros((WAITING, TAG + 1), np.int64),
        np.full(loads, -1, np.int64),
        np.zeros(loads, np.int64),
        np.zeros(loads, np.int64),
        lines,
    )


@inner
def begin_request(core: Core, cycle: int, wanted: int, use: int, register: int) -> None:
    """A request issues, for lanes and an address as in a trace; of a load, for a register."""
    at = core.at
    place = (at[OLDEST] + at[COUNT]) % WAITING
    at[COUNT] += 1
    tag = 0
    if use == LOADS:
        tag = cache.first_free(core.loads)
        core.loads[tag] = register
        core.ready[register] = core.as_sum[register] = core.as_addend[register] = NEVER
    request = core.requests[place]
    request[VISIBLE], request[USE], request[TAG] = cycle + _TO_QUEUE, use, tag
    request[ADDRESS], request[WANTED] = wanted >> MOST_LANES, wanted & (1 << MOST_LANES) - 1
    at[WAKES] = min(at[WAKES], cycle + _TO_QUEUE)


@inner
def begin_division(core: Core, cycle: int, takes: int, register: int) -> None:
    at = core.at
    at[DIVIDED], at[DIVIDER_DST], at[DIVIDER_FREE] = cycle + takes, register, NEVER
    core.ready[register] = core.as_sum[register] = core.as_addend[register] = NEVER
    at[WAKES] = min(at[WAKES], cycle + takes)


@inner
def advance(core: Core, until: int) -> None:
    """Follows memory up to a cycle."""
    at = core.at
    while at[NOW] < until:
        if at[WAKES] > at[NOW]:
            at[NOW] = min(until, at[WAKES])
        else:
            _step(core)


@inner
def await_release(core: Core) -> None:
    """Follows memory until a register or a place for a request is set free, one at least."""
    at = core.at
    before = at[RELEASED]
    while at[RELEASED] == before:
        at[NOW] = max(at[NOW], at[WAKES])
        _step(core)


@inner
def drain(core: Core, cycle: int) -> int:
    """The cycle in which all is done, if nothing more comes from this one on."""
    at = core.at
    advance(core, cycle)
    core.lines.at[cache.DRAINS] = cycle
    at[WAKES] = cycle
    while at[COUNT] or at[HAS_LINE] or not cache.are_idle(core.lines, at[NOW]):
        if at[WAKES] > at[NOW]:
            at[NOW] = at[WAKES]
        else:
            _step(core)
    return at[NOW]


@inner
def _step(core: Core) -> None:
    """A cycle."""
    at, lines = core.at, core.lines
    now = at[NOW]
    has_bus = core.bus[(now + 1) % BUS] != now + 1
    takes_result = has_bus and at[DIVIDED] > now

    request = core.requests[at[OLDEST]]
    is_offered = at[COUNT] > 0 and request[VISIBLE] <= now
    is_empty = is_offered and request[WANTED] == 0
    returns = is_empty and request[USE] == LOADS

    leaves = _give_line(core, takes_result and not returns)
    takes_line = _take_line(core)
    changes = leaves or takes_line
    changes |= has_bus and _end_division(core)

    line, has_both = -1, False
    if is_offered:
        line, has_both = _next_line(core, request)
    is_write, is_prefetch = request[USE] == STORES, request[USE] == PREFETCHES
    asked_tag = request[TAG] * _TAGS + is_prefetch
    is_taken, moves = cache.step(lines, now, line, is_write, asked_tag, takes_line)
    changes |= moves
    if is_taken:
        ends = _is_last_line(core, request, has_both)
    else:
        ends = is_empty and (not returns or takes_result)
    if ends:
        _end_request(core, request, returns)
        changes = True

    at[NOW] = now + 1
    at[WAKES] = now + 1
    if not changes and has_bus:
        at[WAKES] = _next_change(core, now)


@inner
def _end_division(core: Core) -> bool:
    """The divider's result goes to the bus, if it is there. Whether it is."""
    at = core.at
    if at[DIVIDED] > at[NOW]:
        return False
    at[DIVIDED], at[DIVIDER_FREE] = NEVER, at[NOW] + 1
    _release(core, at[DIVIDER_DST])
    return True


@inner
def _give_line(core: Core, can_answer: bool) -> bool:
    """The splitter's line answers its load, or stays there as a vector's first half, for the other
    one. Whether the splitter gives it."""
    at = core.at
    if at[HAS_LINE] == 0:
        return False
    tag = at[LINE_TAG]
    keeps = core.has_both[tag] > 0 and core.has_half[tag] == 0
    if keeps or can_answer:
        core.has_half[tag] = keeps
        at[HAS_LINE] = 0
        if not keeps:
            _end_load(core, tag)
    return keeps or can_answer


@inner
def _take_line(core: Core) -> bool:
    """A splitter without a line takes the cache's next answer. Whether there is one."""
    at, lines = core.at, core.lines
    takes = at[HAS_LINE] == 0 and lines.at[ANSWERS] > 0
    if takes:
        line_tag = lines.answers[lines.at[ANSWER]]
        at[HAS_LINE], at[LINE_TAG] = line_tag % _TAGS == 0, line_tag // _TAGS
    return takes


@inner
def _is_last_line(core: Core, request: np.ndarray, has_both: bool) -> bool:
    """Whether the line that a request has just asked for is its last one, which is noted."""
    at = core.at
    if request[USE] == LOADS:
        core.has_both[request[TAG]] = has_both
    is_last = not has_both or at[HALF_ASKED] > 0
    at[HALF_ASKED] = not is_last
    return is_last


@inner
def _end_request(core: Core, request: np.ndarray, returns: bool) -> None:
    """A request leaves the ring; one that ``returns`` is a load without lines, and has a result."""
    at = core.at
    if returns:
        _end_load(core, request[TAG])
    at[OLDEST] = (at[OLDEST] + 1) % WAITING
    at[COUNT] -= 1
    at[RELEASED] += 1


@inner
def _end_load(core: Core, tag: int) -> None:
    _release(core, core.loads[tag])
    core.loads[tag] = -1


@inner
def _release(core: Core, register: int) -> None:
    """A result is taken to the bus: it can be read from the next cycle on."""
    ready = core.at[NOW] + 1
    core.ready[register] = core.as_sum[register] = core.as_addend[register] = ready
    core.at[RELEASED] += 1


@inner
def _next_line(core: Core, request: np.ndarray) -> tuple[int, bool]:
    """The line that a request is about to ask for, -1 for none, and whether it wants two."""
    if request[WANTED] == 0:
        return -1, False
    line, offset = request[ADDRESS] // LINE_WORDS, request[ADDRESS] % LINE_WORDS
    in_first = (1 << (LINE_WORDS - offset)) - 1
    has_first = request[WANTED] & in_first != 0
    has_both = has_first and request[WANTED] & ~in_first != 0
    if core.at[HALF_ASKED] or not has_first:
        line += 1
    return line, has_both


@inner
def _next_change(core: Core, now: int) -> int:
    at = core.at
    found = cache.next_change(core.lines, now)
    if now < at[DIVIDED] < found:
        found = at[DIVIDED]
    if at[COUNT] and now < core.requests[at[OLDEST], VISIBLE] < found:
        found = core.requests[at[OLDEST], VISIBLE]
    return found

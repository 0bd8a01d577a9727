"""When lines of main memory come to the core, through its cache, and leave it.

Source: ``hw.lib.lines``: ``cache``, ``write_buffer``, ``line_memory``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hw.lib.lines.line_size import LINE_BYTES
from hw.sram_compute.config import SramConfig
from sw.program.jit import compiled_inner

WAYS = 4
WRITTEN_LINES = 16
_QUEUE = 8
"""Of ``hw.lib.lines.lane_cache``: ways of a set, lines that wait to be written, requests of the
cache that wait for memory."""

(
    _DECIDED,
    _DOWN,
    _CHANNEL,
    _LEAVES,
    _ANSWER,
    _USES,
    _REQUESTS,
    _READS,
    _OLDEST,
    _KEPT,
    _LINE_CYCLES,
    _LATENCY,
) = range(12)
"""In ``times``: when the last request left the cache's second stage, and when the last one below
it; from when on memory takes one, and a written line may leave; the last answer; counts; of kept
lines the oldest, and how many; what the configuration says."""


class Lines(NamedTuple):
    """keys, used, come
        int64 [sets, ways]: lines held, -1 for none; when they were used last, counted; the cycle in
        which each has come.
    fetches, waiting
        int64 [n]: cycles in which the last of so many fetches, and reads that wait for them, end.
    queue, answers
        int64 [n]: cycles in which the last requests went down, and the last reads were answered.
    kept
        int64 [lines]: that are written, and wait.
    times
        int64 [n].
    """

    keys: np.ndarray
    used: np.ndarray
    come: np.ndarray
    fetches: np.ndarray
    waiting: np.ndarray
    queue: np.ndarray
    answers: np.ndarray
    kept: np.ndarray
    times: np.ndarray


def empty_lines(config: SramConfig) -> Lines:
    """As a program finds them."""
    shape = config.core_cache_bytes // (LINE_BYTES * WAYS), WAYS
    times = np.zeros(_LATENCY + 1, np.int64)
    times[_LINE_CYCLES], times[_LATENCY] = config.line_cycles, config.latency
    return Lines(
        np.full(shape, -1, np.int64),
        np.zeros(shape, np.int64),
        np.full(shape, -1, np.int64),
        np.full(config.core_loads, -1, np.int64),
        np.full(2 * config.core_loads, -1, np.int64),
        np.full(_QUEUE, -1, np.int64),
        np.full(config.latency // config.line_cycles + 1, -1, np.int64),
        np.full(WRITTEN_LINES, -1, np.int64),
        times,
    )


@compiled_inner
def read(lines: Lines, line: int, offered: int) -> tuple[int, int]:
    """A read, offered from a cycle on: when it is accepted, and when its answer is there."""
    times = lines.times
    accepted = max(offered, times[_DECIDED])
    cycle = accepted + 1
    place, way = line % len(lines.keys), _way(lines, line)
    times[_USES] += 1
    if way >= 0 and lines.come[place, way] < cycle:
        answered = cycle + 1
    elif way >= 0:
        slot = lines.waiting.argmin()
        cycle = max(cycle, lines.waiting[slot] + 1)
        answered = max(cycle, lines.come[place, way]) + 1
        lines.waiting[slot] = answered
    else:
        way = lines.used[place].argmin()
        fetch, slot = lines.fetches.argmin(), lines.waiting.argmin()
        cycle = max(cycle, lines.come[place, way] + 1, _room(lines))
        cycle = max(cycle, lines.fetches[fetch] + 1, lines.waiting[slot] + 1)
        answered = _fetch(lines, line, cycle + 1)
        lines.fetches[fetch] = lines.waiting[slot] = answered
        lines.keys[place, way], lines.come[place, way] = line, answered
    lines.used[place, way] = times[_USES]
    times[_DECIDED] = cycle
    return accepted, answered


@compiled_inner
def write(lines: Lines, line: int, offered: int) -> int:
    """When a write is accepted."""
    times = lines.times
    accepted = max(offered, times[_DECIDED])
    cycle = max(accepted + 1, _room(lines))
    way = _way(lines, line)
    if way >= 0:
        cycle = max(cycle, lines.come[line % len(lines.keys), way] + 1)
    times[_DECIDED] = cycle
    cycle = max(cycle + 1, times[_DOWN] + 1)
    if not _is_kept(lines, line):
        if times[_KEPT] == len(lines.kept):
            cycle = _leave(lines, cycle) + 1
        at = (times[_OLDEST] + times[_KEPT]) % len(lines.kept)
        lines.kept[at] = line
        times[_KEPT] += 1
    _goes_down(lines, cycle)
    return accepted


@compiled_inner
def drain(lines: Lines, cycle: int) -> int:
    """The cycle in which all that is kept is in memory, if nothing more comes from a cycle on: the
    only line that is kept has then begun to leave, so that what is on its way to it leaves again.
    """
    times = lines.times
    if times[_KEPT] == 1 and times[_DOWN] > cycle:
        _leave(lines, cycle)
        times[_KEPT] += 1
    cycle = max(cycle, times[_DECIDED] + 1, times[_DOWN] + 1)
    while times[_KEPT]:
        cycle = _leave(lines, cycle) + 1
    return max(cycle, times[_CHANNEL], times[_ANSWER] + 1)


@compiled_inner
def _way(lines: Lines, line: int) -> int:
    place = line % len(lines.keys)
    for way in range(lines.keys.shape[1]):
        if lines.keys[place, way] == line:
            return way
    return -1


@compiled_inner
def _room(lines: Lines) -> int:
    """From when on the queue has room."""
    return lines.queue[lines.times[_REQUESTS] % len(lines.queue)] + 1


@compiled_inner
def _goes_down(lines: Lines, cycle: int) -> None:
    times = lines.times
    lines.queue[times[_REQUESTS] % len(lines.queue)] = cycle
    times[_REQUESTS] += 1
    times[_DOWN] = cycle


@compiled_inner
def _taken(lines: Lines, cycle: int) -> int:
    """When memory takes a request, offered from a cycle on."""
    times = lines.times
    oldest = lines.answers[times[_READS] % len(lines.answers)]
    cycle = max(cycle, times[_CHANNEL], oldest + 1)
    times[_CHANNEL] = cycle + times[_LINE_CYCLES]
    return cycle


@compiled_inner
def _fetch(lines: Lines, line: int, cycle: int) -> int:
    """When a line comes that is asked for from a cycle on."""
    times = lines.times
    cycle = max(cycle, times[_DOWN] + 1)
    while _is_kept(lines, line):
        cycle = _leave(lines, cycle) + 1
    cycle = _taken(lines, max(cycle, times[_LEAVES]))
    _goes_down(lines, cycle)
    answer = max(cycle + times[_LATENCY], times[_ANSWER] + 1)
    lines.answers[times[_READS] % len(lines.answers)] = answer
    times[_READS] += 1
    times[_ANSWER] = answer
    return answer


@compiled_inner
def _is_kept(lines: Lines, line: int) -> bool:
    for number in range(lines.times[_KEPT]):
        if lines.kept[(lines.times[_OLDEST] + number) % len(lines.kept)] == line:
            return True
    return False


@compiled_inner
def _leave(lines: Lines, cycle: int) -> int:
    """The cycle, from this one on, in which the oldest kept line leaves its place."""
    times = lines.times
    cycle = max(cycle, times[_LEAVES])
    times[_LEAVES] = _taken(lines, cycle + 1) + 1
    times[_OLDEST] = (times[_OLDEST] + 1) % len(lines.kept)
    times[_KEPT] -= 1
    return cycle

"""When lines are copied between memory and words of banks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.streams.copy_queue import QUEUED_COPIES
from gnarl.hw.sram_compute.streams.line_copier import LOAD_CYCLES, STORE_CYCLES
from gnarl.hw.sram_compute.streams.word_copy import STRIP_LINES
from gnarl.sw.runtime.sram_compute.model.memory_times import Channel


@dataclass
class _Copy:
    """``lines`` of words from line ``first`` on, which are queued in a cycle.

    start
        the cycle in which it begins, once that is known.
    offered
        that in which the next line is offered to memory.
    taken
        those in which memory has taken stored lines.
    free
        those from which on engines may access lines, as far as memory has taken them.
    asked
        those in which banks are asked for stored lines, as far as that is known.
    begins, leaves
        those in which a line's first word is accessed, and in which a stored one leaves the place
        where it was gathered, of lines of which that is known.
    """

    is_store: bool
    first: int
    lines: int
    queued: int
    start: int = -1
    offered: int = 0
    taken: list[int] = field(default_factory=list)
    free: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    begins: dict[int, int] = field(default_factory=dict)
    leaves: dict[int, int] = field(default_factory=dict)


class CopyTimes:
    """Copies of a run, one after the other, as ``CopyQueue`` and ``WordCopy`` have them.

    lines
        that memory has taken so far.
    """

    def __init__(self, channel: Channel, banks: int) -> None:
        self._channel = channel
        self._banks = banks
        self._copies: list[_Copy] = []
        self._started = 0
        # Of each bank, the cycles in which a line's words begin to be accessed.
        self._accesses: list[list[int]] = [[] for _ in range(banks)]
        self.lines = 0

    @property
    def offered(self) -> int | None:
        """The cycle in which the next line is offered to memory, if there is one."""
        running = self._running
        return None if running is None else running.offered

    @property
    def room(self) -> int | None:
        """The first cycle in which a copy may be queued, once that is known."""
        if len(self._copies) < QUEUED_COPIES:
            return 0
        start = self._copies[-QUEUED_COPIES].start
        return None if start < 0 else start + 1

    @property
    def end(self) -> int | None:
        """The first cycle in which none is under way, once that is known."""
        return None if self._running is not None else self._end

    @property
    def busy(self) -> list[tuple[int, int]]:
        """First and last cycles of each, once all have ended."""
        return [(copy.queued + 1, copy.free[-1] - 1) for copy in self._copies]

    def add(self, fields: Mapping[str, Any], cycle: int) -> None:
        """A ``COPY`` is queued in a cycle."""
        copy = _Copy(bool(fields["is_store"]), fields["words"], fields["lines"], cycle)
        is_next = self._running is None
        self._copies.append(copy)
        if is_next:
            self._start()

    def accept(self, offered: int) -> int:
        """Memory takes the next line, which is its turn from a cycle on; the cycle."""
        copy = self._running
        assert copy is not None
        self.lines += 1
        accepted = self._store(copy, offered) if copy.is_store else self._load(copy, offered)
        if len(copy.free) == copy.lines:
            self._started += 1
            if self._running is not None:
                self._start()
        return accepted

    def untaken(self, cycle: int, banks: Collection[int]) -> int:
        """The cycle, if a line of none of these banks is accessed in it, or that behind the lines;
        they must be known until it."""
        later = cycle
        for bank in banks:
            begins = self._accesses[bank]
            at = bisect_right(begins, cycle) - 1
            if at >= 0:
                later = max(later, begins[at] + LINE_WORDS)
        return later

    def free(self, lines: np.ndarray, stores: bool) -> int | None:
        """The cycle from which on engines may access lines of words, once that is known."""
        cycle = 0
        for copy in self._copies:
            if copy.is_store and not stores:
                continue
            places = lines - copy.first
            places = places[(places >= 0) & (places < copy.lines)]
            if len(places):
                last = int(places.max())
                if last >= len(copy.free):
                    return None
                cycle = max(cycle, copy.free[last])
        return cycle

    @property
    def _running(self) -> _Copy | None:
        return self._copies[self._started] if self._started < len(self._copies) else None

    @property
    def _end(self) -> int:
        return self._copies[self._started - 1].free[-1] if self._started else 0

    def _start(self) -> None:
        copy = self._copies[self._started]
        copy.start = max(copy.queued + 1, self._end)
        copy.offered = copy.start + 1
        if copy.is_store:
            self._ask(copy)
            copy.offered = copy.leaves[0] + 1

    def _load(self, copy: _Copy, offered: int) -> int:
        """A line is asked for; it comes as soon as its bank has room for it."""
        line = len(copy.free)
        before = self._before(copy, line)
        room = copy.start + 1 if before is None else copy.begins[before]
        accepted, taken = self._channel.read(offered, room)
        begin = taken + 1
        if before is not None:
            begin = max(begin, copy.begins[before] + LOAD_CYCLES)
        copied = begin + LOAD_CYCLES
        copy.free.append(max(copied, copy.free[-1] + 1) if copy.free else copied)
        copy.offered = accepted + 1
        self._access(copy, line, begin)
        return accepted

    def _store(self, copy: _Copy, offered: int) -> int:
        """A line is taken, so that its bank may go on."""
        line = len(copy.taken)
        accepted = self._channel.write(offered)
        copy.taken.append(accepted)
        copy.free.append(accepted + 1)
        self._gather(copy, self._behind(copy, line))
        self._ask(copy)
        if line + 1 < copy.lines:
            copy.offered = max(accepted, copy.leaves[line + 1]) + 1
        return accepted

    def _ask(self, copy: _Copy) -> None:
        """Asks banks for lines, one a cycle, in order, each as soon as the bank's line before is
        accessed; as far as that is known."""
        while (line := len(copy.asked)) < copy.lines:
            asked = copy.asked[-1] + 1 if copy.asked else copy.start + 1
            before = self._before(copy, line)
            if before is not None:
                if before not in copy.begins:
                    return
                asked = max(asked, copy.begins[before])
            copy.asked.append(asked)
            self._gather(copy, line)

    def _gather(self, copy: _Copy, line: int) -> None:
        """When a line that was asked for is gathered, and those of its bank behind it, as far as
        that is known."""
        while line < len(copy.asked):
            before = self._before(copy, line)
            if line not in copy.begins:
                begin = copy.asked[line] + 1
                if before is not None:
                    if before not in copy.leaves:
                        return
                    begin = max(begin, copy.leaves[before] + 1)
                self._access(copy, line, begin)
            if line not in copy.leaves:
                leaves = copy.begins[line] + STORE_CYCLES - 1
                if before is not None:
                    if before >= len(copy.taken):
                        return
                    leaves = max(leaves, copy.taken[before])
                copy.leaves[line] = leaves
            line = self._behind(copy, line)

    def _access(self, copy: _Copy, line: int, cycle: int) -> None:
        copy.begins[line] = cycle
        bank = (copy.first + line) // STRIP_LINES % self._banks
        self._accesses[bank].append(cycle)

    def _before(self, copy: _Copy, line: int) -> int | None:
        """The line before in the same bank."""
        is_first = (copy.first + line) % STRIP_LINES == 0
        before = line - (self._away if is_first else 1)
        return before if before >= 0 else None

    def _behind(self, copy: _Copy, line: int) -> int:
        """The next line in the same bank."""
        is_last = (copy.first + line) % STRIP_LINES == STRIP_LINES - 1
        return line + (self._away if is_last else 1)

    @property
    def _away(self) -> int:
        """Lines from the last one that lies in a bank to the next one there."""
        return STRIP_LINES * (self._banks - 1) + 1

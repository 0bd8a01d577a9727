"""When lines are copied between memory and words of banks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.isa import STRIP
from gnarl.hw.sram_compute.streams.copy_queue import QUEUED_COPIES
from gnarl.hw.sram_compute.streams.word_copy import LOAD_CYCLES, STORE_CYCLES
from gnarl.sw.runtime.sram_compute.model.memory_times import Channel


@dataclass
class _Copy:
    """``lines`` of words from line ``first`` on, which are queued in a cycle.

    start
        the cycle in which it begins, once that is known.
    offered, ready
        the cycles in which the next line is offered to memory, and from which on its answer is
        taken.
    free
        those from which on engines may access lines, as far as memory has taken them.
    """

    is_store: bool
    first: int
    lines: int
    queued: int
    start: int | None = None
    offered: int = 0
    ready: int = 0
    free: list[int] = field(default_factory=list)


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
        self._begins: list[int] = []  # cycles in which a line's words begin to be accessed
        self._in_banks: list[int] = []  # whose they are
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
        return None if start is None else start + 1

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
        if copy.is_store:
            accepted = self._channel.write(offered)
            copy.free.append(accepted + 1)
            copy.offered = accepted + STORE_CYCLES
        else:
            accepted, taken = self._channel.read(offered, copy.ready)
            copy.free.append(taken + LOAD_CYCLES + 1)
            copy.offered, copy.ready = accepted + 1, copy.free[-1]
            self._begin(copy, len(copy.free) - 1, taken + 1)
        if len(copy.free) == copy.lines:
            self._started += 1
            if self._running is not None:
                self._start()
        elif copy.is_store:
            self._begin(copy, len(copy.free), accepted + 1)
        return accepted

    def untaken(self, cycle: int, banks: Collection[int]) -> int:
        """The cycle, if a line of none of these banks is accessed in it, or that behind the line;
        lines must be known until it."""
        at = bisect_right(self._begins, cycle) - 1
        if at < 0 or self._in_banks[at] not in banks:
            return cycle
        return max(cycle, self._begins[at] + LINE_WORDS)

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
        copy.ready = copy.start + 1
        copy.offered = copy.start + (STORE_CYCLES if copy.is_store else 1)
        if copy.is_store:
            self._begin(copy, 0, copy.start + 1)

    def _begin(self, copy: _Copy, line: int, cycle: int) -> None:
        self._begins.append(cycle)
        self._in_banks.append((copy.first + line) * LINE_WORDS // STRIP % self._banks)

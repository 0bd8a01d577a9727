"""When lines of a program come, and lines of copies meanwhile."""

from __future__ import annotations

import numpy as np

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import LINE_UNITS, UNIT_WORDS
from gnarl.sw.runtime.sram_compute.model.copy_times import CopyTimes
from gnarl.sw.runtime.sram_compute.model.memory_times import Channel

_ASKED = 2
"""Cycles from a line until the next one is asked for, at least."""


class FetchTimes:
    """When units of the program are there, as ``CommandFetch`` has it, and when copies are done
    meanwhile, as ``MemoryTurns``.

    memory
        uint32 [lines, words of a line], which a program may change behind its fetch.
    """

    def __init__(
        self,
        config: SramConfig,
        channel: Channel,
        copies: CopyTimes,
        memory: np.ndarray,
        first_line: int,
    ) -> None:
        self._memory = memory
        self._fetched: dict[int, np.ndarray] = {}
        self._channel = channel
        self._copies = copies
        self._turn = 0  # the first cycle in which a request may be the next one
        self._end = config.memory_lines
        self._next_line = first_line
        self._accepted: list[int] = []
        self._held = 0
        self._offset = 0
        self._wants: int | None = 1  # the cycle in which a line is to be asked for
        self._comes: int | None = None  # the cycle in which it comes

    def wait(self, units: int, cycle: int) -> int | None:
        """The first cycle, from ``cycle`` on, in which so many units are there; ``None`` if they
        never are."""
        self._settle(cycle)
        while self._available < units:
            if self._comes is not None:
                cycle = self._comes + 1
            elif self._wants is not None:
                cycle = max(cycle, self._wants)
            else:
                return None
            self._settle(cycle)
        return cycle

    def units(self, place: int, count: int) -> np.ndarray:
        """Units that have been fetched, from one of memory on: uint32 [count, words of a unit]."""
        first, end = place // LINE_UNITS, -(-(place + count) // LINE_UNITS)
        lines = np.concatenate([self._fetched[line] for line in range(first, end)])
        begin = place - first * LINE_UNITS
        return lines.reshape(-1, UNIT_WORDS)[begin : begin + count]

    def take(self, units: int, cycle: int) -> None:
        """Takes so many units, which are done with in this cycle, which ``wait`` gave."""
        self._offset += units
        if self._offset >= LINE_UNITS:
            del self._fetched[min(self._fetched)]
            self._offset -= LINE_UNITS
            self._held -= 1
            self._want(cycle + 1)

    def hold(self, cycle: int) -> int:
        """No line is asked for from this cycle on; the first in which none is under way."""
        self._settle(cycle - 1)
        idle = cycle if self._comes is None else self._comes + 1
        self._settle(max(idle, cycle - 1), asks=False)
        return idle

    def release(self, cycle: int) -> None:
        """Lines are asked for again from this cycle on."""
        if self._wants is not None:
            self._wants = max(self._wants, cycle)

    def pass_until(self, cycle: int) -> None:
        """Copies are as they are in this cycle; nothing is taken before it."""
        self._settle(cycle)

    def pass_line(self, *, asks: bool = True) -> None:
        """Waits until memory has taken the next line of a copy; nothing is taken meanwhile, and
        where the fetch is held, none is asked for."""
        lines = self._copies.lines
        while self._copies.lines == lines:
            offered = self._copies.offered
            assert offered is not None
            self._settle(max(offered, self._turn), asks=asks)

    def lines(self, cycle: int) -> int:
        """How many lines have been requested by the end of a cycle."""
        self._settle(cycle)
        return sum(accepted <= cycle for accepted in self._accepted)

    @property
    def _available(self) -> int:
        return self._held * LINE_UNITS - self._offset if self._held else 0

    def _want(self, cycle: int) -> None:
        if self._comes is None and self._held != 2 and self._next_line != self._end:
            self._wants = cycle if self._wants is None else self._wants

    def _settle(self, cycle: int, *, asks: bool = True) -> None:
        """All that shows by ``cycle``."""
        while True:
            wants = self._wants if asks else None
            if self._comes is not None:
                other = self._comes + _ASKED
            elif wants is not None:
                other = max(wants + 1, self._turn)
            else:
                other = cycle + _ASKED
            offered = self._copies.offered
            if offered is not None and max(offered, self._turn) < other:
                if max(offered, self._turn) > cycle:
                    return
                self._turn = self._copies.accept(max(offered, self._turn)) + 1
            elif self._comes is not None and self._comes < cycle:
                came, self._comes = self._comes, None
                self._held += 1
                self._want(came + 1)
            elif self._comes is None and wants is not None and wants <= cycle:
                accepted, self._comes = self._channel.read(other)
                self._accepted.append(accepted)
                self._turn = accepted + 1
                self._wants = None
                self._fetched[self._next_line] = self._memory[self._next_line].copy()
                self._next_line += 1
            else:
                return

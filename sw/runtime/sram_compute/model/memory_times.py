"""When main memory takes requests, and when lines of a program come."""

from __future__ import annotations

from hw.sram_compute.config import SramConfig
from hw.sram_compute.isa import LINE_UNITS


class Channel:
    """Of main memory, as ``hw.lib.lines.line_memory`` has it."""

    def __init__(self, config: SramConfig) -> None:
        self.latency = config.latency
        self.in_flight = config.latency // config.line_cycles + 1
        self._line_cycles = config.line_cycles
        self._free = 0

    @property
    def free(self) -> int:
        """From this cycle on it takes a request."""
        return self._free

    def accept(self, offered: int) -> int:
        """The cycle in which a request is accepted that is offered from a cycle on."""
        accepted = max(offered, self._free)
        self._free = accepted + self._line_cycles
        return accepted


class FetchTimes:
    """When units of the program are there, as ``CommandFetch`` has it."""

    def __init__(self, config: SramConfig, channel: Channel, first_line: int) -> None:
        self._channel = channel
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

    def take(self, units: int, cycle: int) -> None:
        """So many are done with in this cycle, which ``wait`` gave."""
        self._offset += units
        if self._offset >= LINE_UNITS:
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

    def lines(self, cycle: int) -> int:
        """Those that have been asked for by the end of a cycle."""
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
            if self._comes is not None and self._comes < cycle:
                came, self._comes = self._comes, None
                self._held += 1
                self._want(came + 1)
            elif asks and self._wants is not None and self._wants <= cycle:
                self._accepted.append(self._channel.accept(self._wants + 1))
                self._comes = self._accepted[-1] + self._channel.latency
                self._wants = None
                self._next_line += 1
            else:
                return

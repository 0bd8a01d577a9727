"""When main memory takes requests."""

from __future__ import annotations

from gnarl.hw.sram_compute.config import QUARTERS, SramConfig


class Channel:
    """The channel of main memory, as ``gnarl.hw.lib.lines.line_memory`` has it; or all of several,
    as ``gnarl.hw.sram_compute.core.pace``."""

    def __init__(self, config: SramConfig) -> None:
        self.latency = config.latency
        self.in_flight = config.latency // config.line_cycles + 1
        self._line_cycles = config.line_cycles
        self._wide_quarters = config.wide_line_quarters
        self._free = 0  # in quarters of a cycle
        self._taken: list[int] = []

    @property
    def free(self) -> int:
        """The cycle from which on it takes a request."""
        return self._free // QUARTERS

    def accept(self, offered: int, *, wide: bool = False) -> int:
        """The cycle in which a request is accepted that is offered from a cycle on; ``wide``: of
        lines side by side."""
        accepted = max(offered, self.free)
        begin = QUARTERS * accepted
        if wide:
            self._free = max(begin, self._free) + self._wide_quarters
        else:
            self._free = begin + QUARTERS * self._line_cycles
        return accepted

    def read(self, offered: int, ready: int = 0) -> tuple[int, int]:
        """The cycles in which a read is accepted, and in which its answer is taken, by who is ready
        for it from a cycle on; where others read meanwhile."""
        accepted = self.accept(self._with_room(offered))
        before = self._taken[-1] + 1 if self._taken else 0
        self._taken = [*self._taken[-self.in_flight :], max(accepted + self.latency, before, ready)]
        return accepted, self._taken[-1]

    def write(self, offered: int) -> int:
        """Accepts as ``accept`` does, where others read meanwhile."""
        return self.accept(self._with_room(offered))

    def _with_room(self, offered: int) -> int:
        """The cycle, not before few enough answers are to be taken."""
        if len(self._taken) < self.in_flight:
            return offered
        return max(offered, self._taken[-self.in_flight] + 1)

"""When steps of stream engines access words while lines are copied, as ``WordNetwork`` has it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.hw.sram_compute.isa import STRIP
from gnarl.sw.runtime.sram_compute.model.copy_times import CopyTimes
from gnarl.sw.runtime.sram_compute.model.cycle_counts import Interval
from gnarl.sw.runtime.sram_compute.model.fetch_times import FetchTimes

Round = tuple[int, Collection[int]]
"""Cycles, and the banks that are accessed."""


@dataclass(frozen=True)
class Accesses:
    """Accesses of the steps of an operation.

    lines
        of words that are accessed: int64 [banks, steps]; ``None`` of transposed streams.
    enabled
        which are accessed: bool [banks, steps].
    rounds
        of steps in which words go from bank to bank.
    fault
        the first step in which an element is none, whose accesses are not among the others.
    """

    lines: np.ndarray | None
    enabled: np.ndarray
    stores: bool
    rounds: Mapping[int, Sequence[Round]]
    fault: int | None = None


class CopyWaits:
    """Waits for copies in a run.

    waits
        cycles in which engines have waited.
    """

    def __init__(self, fetch: FetchTimes, copies: CopyTimes) -> None:
        self._fetch = fetch
        self._copies = copies
        self.waits: list[Interval] = []

    def is_over(self, cycle: int) -> bool:
        """Whether nothing is copied any more in a cycle."""
        self._fetch.pass_until(cycle)
        end = self._copies.end
        return end is not None and end <= cycle

    def begins(self, first: int, accesses: Accesses, steps: int = STRIP) -> list[int]:
        """The cycles in which the accesses of so many steps begin, of which the first one's is
        given, and in which that of the step behind them may."""
        cycles = [first]
        for step in range(steps):
            cycles.append(self._step(cycles[-1], step, accesses) + 1)
        return cycles

    def _step(self, cycle: int, step: int, accesses: Accesses) -> int:
        enabled = accesses.enabled[:, step]
        if not enabled.any():
            return cycle
        lines = None if accesses.lines is None else accesses.lines[enabled, step]
        cycle = self._wait(cycle, max(cycle, self._free(lines, accesses.stores)))
        own: Round = (1, np.flatnonzero(enabled))
        for cycles, banks in accesses.rounds.get(step, (own,)):
            behind = cycles - 1
            if accesses.stores:
                cycle = self._untaken(cycle + behind, banks) + 1
            else:
                cycle = self._untaken(cycle, banks) + behind + 1
        return cycle - 1

    def _free(self, lines: np.ndarray | None, stores: bool) -> int:
        """The cycle from which on lines, or else bitlines, may be accessed."""
        copies = self._copies
        while (cycle := copies.end if lines is None else copies.free(lines, stores)) is None:
            self._fetch.pass_line()
        return cycle

    def _untaken(self, cycle: int, banks: Collection[int]) -> int:
        """The first cycle, from one on, in which banks may be accessed."""
        self._fetch.pass_until(cycle)
        while (later := self._copies.untaken(cycle, banks)) != cycle:
            cycle = self._wait(cycle, later)
            self._fetch.pass_until(cycle)
        return cycle

    def _wait(self, cycle: int, until: int) -> int:
        if until > cycle:
            self.waits.append((cycle, until - 1))
        return until

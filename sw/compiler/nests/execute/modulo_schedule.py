"""Schedules of loops whose iterations overlap."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gnarl.sw.compiler.nests.execute.dependences import Dependence, loop_dependences
from gnarl.sw.compiler.nests.execute.machine import Step
from gnarl.sw.compiler.nests.execute.result_bus import bus_cycles

_BUDGET = 4
"""Steps that are placed for each step of the loop, before a longer interval is tried."""

_FINENESS = 48
"""Intervals that follow each other differ by this part."""


@dataclass(frozen=True)
class ModuloSchedule:
    """A modulo schedule. ``times``: of the steps of an iteration; the next one begins ``interval``
    cycles later."""

    interval: int
    times: tuple[int, ...]

    @property
    def stages(self) -> int:
        return 1 + max(self.times) // self.interval

    def order(self, first: int, last: int) -> list[int]:
        """Numbers of the steps of stages ``first`` to ``last``, as they come in an interval."""
        found = [
            number
            for number, time in enumerate(self.times)
            if first <= time // self.interval <= last
        ]
        return sorted(found, key=lambda number: self.times[number] % self.interval)


def modulo_schedule(steps: Sequence[Step], window: int, most: int) -> ModuloSchedule | None:
    """The shortest interval, less than ``most`` cycles, that was found; ``None`` without one.

    No step overtakes more than ``window`` others. Intervals that are tried are a few per cent
    apart. O(log intervals x steps x interval). Source: Rau, "Iterative Modulo Scheduling" (1994).
    """
    dependences = [*loop_dependences(steps), *_near(len(steps), window)]
    intervals = list(_intervals(len(steps), most))

    def placing(interval: int) -> _Placing:
        return _Placing(steps, dependences, interval)

    # An interval that recurrences allow, they allow longer, too.
    allowed = bisect_left(intervals, True, key=lambda each: placing(each).heights() is not None)
    for interval in intervals[allowed:]:
        times = placing(interval).times()
        if times is not None:
            return ModuloSchedule(interval, times)
    return None


def _intervals(interval: int, most: int) -> Iterator[int]:
    while interval < most:
        yield interval
        interval += 1 + interval // _FINENESS


def _near(count: int, window: int) -> list[Dependence]:
    """Each step comes behind the one that stands ``window`` before it."""
    return [
        Dependence((number - window) % count, number, 1, -((number - window) // count))
        for number in range(count)
    ]


class _Placing:
    def __init__(
        self, steps: Sequence[Step], dependences: Sequence[Dependence], interval: int
    ) -> None:
        self._interval = interval
        self._bus = [bus_cycles(step) for step in steps]
        self._before: list[list[Dependence]] = [[] for _ in steps]
        self._after: list[list[Dependence]] = [[] for _ in steps]
        for each in dependences:
            self._before[each.reader].append(each)
            self._after[each.maker].append(each)
        self._times: list[int | None] = [None] * len(steps)
        self._issues: dict[int, int] = {}
        self._written: dict[int, int] = {}
        self._last = [-1] * len(steps)

    def times(self) -> tuple[int, ...] | None:
        heights = self.heights()
        if heights is None:
            return None
        count = len(self._times)
        left = set(range(count))
        for _ in range(_BUDGET * count):
            if not left:
                break
            number = max(left, key=lambda each: (heights[each], -each))
            left.remove(number)
            left |= self._place(number)
        if left:
            return None
        known = [time for time in self._times if time is not None]
        first = min(known) // self._interval * self._interval
        return tuple(time - first for time in known)

    def _wait(self, each: Dependence) -> int:
        return each.cycles - each.distance * self._interval

    def heights(self) -> list[int] | None:
        """How long before the last step each must come; ``None`` where none can."""
        heights = [0] * len(self._after)
        for _ in range(len(heights) + 1):
            changes = False
            for number in reversed(range(len(heights))):
                least = max(
                    (heights[each.reader] + self._wait(each) for each in self._after[number]),
                    default=0,
                )
                if least > heights[number]:
                    heights[number], changes = least, True
            if not changes:
                return heights
        return None

    def _place(self, number: int) -> set[int]:
        """What must be placed again."""
        earliest = 0
        for each in self._before[number]:
            time = self._times[each.maker]
            if time is not None and each.maker != number:
                earliest = max(earliest, time + self._wait(each))
        slots = range(earliest, earliest + self._interval)
        time = next((slot for slot in slots if self._is_free(number, slot)), None)
        if time is None:
            time = max(earliest, self._last[number] + 1)
        gone = self._conflicts(number, time)
        for other in gone:
            self._remove(other)
        self._times[number] = self._last[number] = time
        self._issues[time % self._interval] = number
        for after in self._bus[number]:
            self._written[(time + after) % self._interval] = number
        for dependence in self._after[number]:
            placed = self._times[dependence.reader]
            if placed is not None and dependence.reader != number:
                if placed < time + self._wait(dependence):
                    self._remove(dependence.reader)
                    gone.add(dependence.reader)
        return gone

    def _is_free(self, number: int, time: int) -> bool:
        return not self._conflicts(number, time)

    def _conflicts(self, number: int, time: int) -> set[int]:
        conflicts = {
            self._written.get((time + after) % self._interval) for after in self._bus[number]
        }
        conflicts.add(self._issues.get(time % self._interval))
        return {each for each in conflicts if each is not None}

    def _remove(self, number: int) -> None:
        time = self._times[number]
        assert time is not None
        self._times[number] = None
        del self._issues[time % self._interval]
        for after in self._bus[number]:
            del self._written[(time + after) % self._interval]

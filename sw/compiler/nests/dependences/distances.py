"""How many iterations of a loop lie between two accesses of one word.

Sources: Banerjee, "Dependence Analysis for Supercomputing" (1988), for bounds of sums and the test
by greatest common divisors; Goff, Kennedy and Tseng, "Practical Dependence Testing" (1991), for
distances, an index at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import gcd

from gnarl.sw.compiler.nests.dependences.linear import Linear, Range, Ranges, span

_WRAP = 1 << 32
"""Sums of int32 are equal if they differ by a multiple of this."""

FARTHEST = (1 << 31) - 1
"""Iterations between two of one loop: more do not come to an end."""


@dataclass(frozen=True)
class Words:
    """``width`` neighbours in the last dimension, from ``indices`` on."""

    indices: Sequence[Linear]
    width: int = 1


@dataclass(frozen=True)
class Distances:
    """Numbers of iterations from ``least`` to ``most``; none at all if that is less."""

    least: int
    most: int

    def __bool__(self) -> bool:
        return self.least <= self.most

    def meet(self, least: int, most: int) -> bool:
        """Whether one of them is from ``least`` to ``most``."""
        return max(self.least, least) <= min(self.most, most)

    @property
    def is_ahead(self) -> bool:
        """Whether one of them is above 0."""
        return bool(self) and self.most > 0

    @property
    def is_behind(self) -> bool:
        """Whether one of them is below 0."""
        return bool(self) and self.least < 0

    def within(self, least: int, most: int) -> Distances:
        return Distances(max(self.least, least), min(self.most, most))


NONE = Distances(1, 0)
UNKNOWN = Distances(-FARTHEST, FARTHEST)


@dataclass(frozen=True)
class Counter:
    """The variable of a loop that counts in steps of ``step``, ``None`` where not known."""

    variable: Hashable
    step: int | None = 1


def distances(
    one: Words,
    other: Words,
    counter: Counter | None,
    ranges: Ranges,
    differs: Callable[[Hashable], bool],
) -> Distances:
    """All distances between iterations of ``counter``, that of ``other`` minus that of ``one``, in
    which both may touch the same word of one array; without a counter ``UNKNOWN`` if there is one
    at all.

    ``differs``: whether a variable may have another value for ``other`` than for ``one``, as all
    have that its loop's iterations change. Each index lies in its dimension; indices that may wrap
    around say nothing. O(dimensions x variables x depth).
    """
    pair = _Pair(ranges, differs)
    allowed = UNKNOWN
    if counter is not None:
        allowed = _steps(allowed.within(*span(pair.gone(counter.variable), pair.range)), counter)
    last = len(one.indices) - 1
    for number, (left, right) in enumerate(zip(one.indices, other.indices, strict=True)):
        is_last = number == last
        # What the first index may be more than the other's.
        off = (1 - one.width, other.width - 1) if is_last else (0, 0)
        met = pair.distances(left, right, off, None if counter is None else counter.variable)
        if not met:
            return NONE
        if counter is not None:
            met = _steps(met, counter)
            allowed = allowed.within(met.least, met.most)
    return allowed if allowed else NONE


def _steps(met: Distances, counter: Counter) -> Distances:
    """Iterations between values of a counter."""
    if counter.step is None:
        return met if not met or met == Distances(0, 0) else UNKNOWN
    return Distances(-(-met.least // counter.step), met.most // counter.step)


class _Pair:
    """Variables of two accesses: ``(0, x)`` of the first, ``(1, x)`` of the other, and x where
    both have the same."""

    def __init__(self, ranges: Ranges, differs: Callable[[Hashable], bool]) -> None:
        self._ranges = ranges
        self._differs = differs
        self._known: dict[Hashable, Range] = {}

    def gone(self, counter: Hashable) -> Linear:
        """The distance from the first access's value of a counter to the other's."""
        return Linear.of(_Own(1, counter)).plus(Linear.of(_Own(0, counter)), -1)

    def range(self, variable: Hashable) -> Range:
        if variable not in self._known:
            self._known[variable] = self._range(variable)
        return self._known[variable]

    def _range(self, variable: Hashable) -> Range:
        if not isinstance(variable, _Own):
            return self._ranges(variable)
        found = self._ranges(variable.of)
        least, most = (
            None if each is None else self._own(each, variable.access)
            for each in (found.least, found.most)
        )
        return Range(least, most, found.depth)

    def _own(self, form: Linear, access: int) -> Linear:
        return form.renamed(lambda each: _Own(access, each) if self._differs(each) else each)

    def distances(
        self, left: Linear, right: Linear, off: tuple[int, int], counter: Hashable | None
    ) -> Distances:
        """Distances between values of the counter that one index allows."""
        first, second = self._own(left, 0), self._own(right, 1)
        total = first.plus(second, -1)
        least, most = span(total, self.range)
        fits = -_WRAP + off[1] < least and most < _WRAP + off[0]
        if fits and (most < off[0] or least > off[1] or not _divides(total, off)):
            return NONE
        if counter is None:
            return UNKNOWN
        factors = first.factor(_Own(0, counter)), second.factor(_Own(1, counter))
        allowed = UNKNOWN
        rest = total.without(_Own(0, counter), _Own(1, counter))
        for access, factor in ((0, factors[1]), (1, factors[0])):
            # With one counter as the other one and a distance: total = both - factor x distance.
            both = rest.plus(Linear.of(_Own(access, counter)), factors[0] - factors[1])
            least, most = span(both, self.range)
            farthest = abs(factor) * FARTHEST + max(-least, most) - off[0] + off[1]
            if factor and (fits or (factors[0] == factors[1] and farthest < _WRAP)):
                met = _quotients(least - off[1], most - off[0], factor)
                allowed = allowed.within(met.least, met.most)
        return allowed


@dataclass(frozen=True)
class _Own:
    """The variable ``of`` of access 0 or 1."""

    access: int
    of: Hashable


def _divides(total: Linear, off: tuple[int, int]) -> bool:
    """Whether whole numbers make the total one between these."""
    divisor = gcd(*total.terms.values())
    if not divisor:
        return off[0] <= total.constant <= off[1]
    return off[1] - (off[1] - total.constant) % divisor >= off[0]


def _quotients(least: int, most: int, factor: int) -> Distances:
    """Whole numbers which times ``factor`` are from ``least`` to ``most``."""
    if factor < 0:
        least, most, factor = -most, -least, -factor
    return Distances(-(-least // factor), most // factor)

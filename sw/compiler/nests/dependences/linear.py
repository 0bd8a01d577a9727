"""Sums of variables times numbers, and what they are at least and at most."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

LEAST, MOST = -(1 << 31), (1 << 31) - 1
"""Bounds of a variable of which nothing is known: an int32."""


@dataclass(frozen=True)
class Linear:
    """``constant`` + the sum of variables times their factors in ``terms``, none of which is 0."""

    constant: int = 0
    terms: Mapping[Hashable, int] = field(default_factory=dict)

    @classmethod
    def of(cls, variable: Hashable) -> Linear:
        return cls(0, {variable: 1})

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """This + ``factor`` times ``other``."""
        terms = dict(self.terms)
        for variable, count in other.terms.items():
            terms[variable] = terms.get(variable, 0) + factor * count
        left = {variable: count for variable, count in terms.items() if count}
        return Linear(self.constant + factor * other.constant, left)

    def factor(self, variable: Hashable) -> int:
        return self.terms.get(variable, 0)

    def without(self, *variables: Hashable) -> Linear:
        left = {each: count for each, count in self.terms.items() if each not in variables}
        return Linear(self.constant, left)

    def renamed(self, name: Callable[[Hashable], Hashable]) -> Linear:
        return Linear(self.constant, {name(each): count for each, count in self.terms.items()})


@dataclass(frozen=True)
class Range:
    """What a variable is at least and at most, ``None`` where that is not known. Bounds name
    variables of less ``depth`` only."""

    least: Linear | None = None
    most: Linear | None = None
    depth: int = 0


UNKNOWN_RANGE = Range()

Ranges = Callable[[Hashable], Range]
"""The range of each variable."""


def span(form: Linear, ranges: Ranges) -> tuple[int, int]:
    """What a sum is at least and at most. A bound takes the place of the deepest variable, so that
    it may cancel what is left. O(variables x depth)."""
    return -_most(Linear().plus(form, -1), ranges), _most(form, ranges)


def _most(form: Linear, ranges: Ranges) -> int:
    while bounded := {
        variable: bound
        for variable, factor in form.terms.items()
        if (bound := ranges(variable).most if factor > 0 else ranges(variable).least) is not None
    }:
        deepest = max(bounded, key=lambda each: ranges(each).depth)
        form = form.without(deepest).plus(bounded[deepest], form.terms[deepest])
    return form.constant + sum(
        factor * (MOST if factor > 0 else LEAST) for factor in form.terms.values()
    )


def is_int32(form: Linear, ranges: Ranges) -> bool:
    """Whether a sum is sure not to wrap around."""
    least, most = span(form, ranges)
    return LEAST <= least and most <= MOST

"""Numbers that are affine in sizes and loop variables, and intervals between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gnarl.sw.workloads.loops.ir.nest import Binary, Cast, Constant, Expression, Variable
from gnarl.sw.workloads.loops.ir.parts import nodes


@dataclass(frozen=True)
class Affine:
    """``constant`` + the sum of name x factor; ``terms`` ascend by name, no factor is 0.

    Names are sizes and loop variables that begin at 0 or above, so none is ever negative.
    """

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms)
        terms = dict(self.terms)
        for name, factor in other.terms:
            terms[name] = terms.get(name, 0) + factor
        return _affine(self.constant + other.constant, terms)

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + -other

    def __mul__(self, factor: int) -> Affine:
        return _affine(self.constant * factor, {name: each * factor for name, each in self.terms})

    def __str__(self) -> str:
        parts = [_term(name, factor) for name, factor in self.terms]
        if self.constant or not parts:
            parts.append(f"{self.constant:+d}")
        text = "".join(parts)
        return text[1:] if text.startswith("+") else text

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.terms)

    @property
    def largest(self) -> int:
        """The largest of its numbers, without their signs."""
        return max(map(abs, (self.constant, *(factor for _, factor in self.terms))))

    def factor(self, name: str) -> int:
        return dict(self.terms).get(name, 0)

    def without(self, name: str) -> Affine:
        return Affine(self.constant, tuple(each for each in self.terms if each[0] != name))

    def value(self, names: Mapping[str, int]) -> int:
        return self.constant + sum(names[name] * factor for name, factor in self.terms)

    def is_at_least(self, other: Affine) -> bool:
        """Whether it is so for all values of the names."""
        rest = self - other
        return rest.constant >= 0 and all(factor > 0 for _, factor in rest.terms)


def _affine(constant: int, factors: Mapping[str, int]) -> Affine:
    terms = sorted((name, factor) for name, factor in factors.items() if factor)
    return Affine(constant, tuple(terms))


def _term(name: str, factor: int) -> str:
    sign = "-" if factor < 0 else "+"
    return f"{sign}{'' if abs(factor) == 1 else f'{abs(factor)}*'}{name}"


def number(value: int) -> Affine:
    return Affine(value)


def named(name: str) -> Affine:
    return Affine(0, ((name, 1),))


def affine_of(expression: Expression) -> Affine | None:
    """What an expression of int32 is, if it is affine; names are as the expression has them."""
    match expression:
        case Constant(value, type) if type.is_integer:
            return Affine(int(value))
        case Variable(name, type) if type.is_integer:
            return named(name)
        case Cast(type, operand) if type.holds(operand.type):
            return affine_of(operand)
        case Binary("+" | "-" | "*" as operator, left, right):
            one, other = affine_of(left), affine_of(right)
            if one is None or other is None:
                return None
            if operator == "+":
                return one + other
            if operator == "-":
                return one - other
            if not one.terms:
                return other * one.constant
            return None if other.terms else one * other.constant
    return None


@dataclass(frozen=True)
class Interval:
    """The numbers from the largest of ``lower`` up to, without, the least of ``upper``; where there
    are none, it has no end. Ends that others imply are left out."""

    lower: tuple[Affine, ...]
    upper: tuple[Affine, ...]

    def __str__(self) -> str:
        return f"[{_ends('max', self.lower, '-inf')}, {_ends('min', self.upper, 'inf')})"

    def __and__(self, other: Interval) -> Interval:
        return Interval(
            _needed(self.lower + other.lower, is_lower=True),
            _needed(self.upper + other.upper, is_lower=False),
        )

    def __add__(self, distance: Affine) -> Interval:
        return Interval(
            tuple(each + distance for each in self.lower),
            tuple(each + distance for each in self.upper),
        )

    def value(self, names: Mapping[str, int]) -> tuple[int, int]:
        """Both ends, which it must have."""
        lower = max(each.value(names) for each in self.lower)
        return lower, max(lower, min(each.value(names) for each in self.upper))

    def holds(self, other: Interval) -> bool:
        """Whether ``other`` lies within for all values of the names, as far as one can see."""
        return all(
            any(end.is_at_least(each) for end in other.lower) for each in self.lower
        ) and all(any(each.is_at_least(end) for end in other.upper) for each in self.upper)

    def is_apart(self, other: Interval) -> bool:
        """Whether they have nothing in common, as far as one can see."""
        return any(
            low.is_at_least(high)
            for one, two in ((self, other), (other, self))
            for low in one.lower
            for high in two.upper
        )


UNBOUNDED = Interval((), ())

Box = tuple[Interval, ...]
"""An interval for each dimension of the lattice, dimension 0 first."""


def interval(lower: Affine, upper: Affine) -> Interval:
    return Interval((lower,), (upper,))


def at(place: Affine) -> Interval:
    """One cell."""
    return interval(place, place + 1)


def meet(one: Box, other: Box) -> Box:
    return tuple(first & second for first, second in zip(one, other, strict=True))


def _needed(ends: tuple[Affine, ...], *, is_lower: bool) -> tuple[Affine, ...]:
    needed: list[Affine] = []
    for end in dict.fromkeys(ends):
        if any(_implies(each, end, is_lower) for each in needed):
            continue
        needed = [each for each in needed if not _implies(end, each, is_lower)] + [end]
    return tuple(sorted(needed, key=str))


def _implies(one: Affine, other: Affine, is_lower: bool) -> bool:
    return one.is_at_least(other) if is_lower else other.is_at_least(one)


def _ends(word: str, ends: tuple[Affine, ...], none: str) -> str:
    if len(ends) == 1:
        return str(ends[0])
    return f"{word}({', '.join(map(str, ends))})" if ends else none


def affines_in(value: Any) -> Iterator[Affine]:
    """All of a graph, or of what graphs are made of."""
    return (each for each in nodes(value) if isinstance(each, Affine))

"""How long an array must be that a pointer names: as far as loops reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import TypeAlias

from gnarl.sw.workloads.loops.ir.index_expressions import add, integer, multiply, variable
from gnarl.sw.workloads.loops.ir.inline import polynomial
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    AugmentedStore,
    Expression,
    For,
    If,
    Load,
    Merge,
    Statement,
    Store,
)
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.place import Location

_Polynomial: TypeAlias = Counter[tuple[str, ...]]
"""Factors of products of names, which are never negative."""

_Bounds: TypeAlias = Mapping[str, tuple[_Polynomial, _Polynomial]]
"""The least and the largest value of loop variables."""


def extent(
    body: tuple[Statement, ...], array: str, sizes: Collection[str], place: Location
) -> Expression | None:
    """A number of elements that all accesses of an array of one dimension stay within, made of
    ``sizes`` that nothing is assigned to; ``None`` where that is not known."""
    assigned = {each.name for each in nodes(body) if isinstance(each, Assign)}
    found: list[_Polynomial | None] = []
    _collect(body, array, {}, found)
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    growing = [each for each in known if any(names and factor for names, factor in each.items())]
    known = growing or known  # a[0] beside a loop over n: there must be an element, so n is not 0
    largest = next((one for one in known if all(_is_at_least(one, each) for each in known)), None)
    if largest is None:
        return None
    if not {name for names in largest for name in names} <= {*sizes} - assigned:
        return None
    if any(names and factor < 0 for names, factor in largest.items()):
        return None
    if any(names and factor for names, factor in largest.items()):
        largest[()] = max(0, largest[()])  # an array of n for what goes up to n - 1
    return _expression(largest, place)


def _collect(
    body: tuple[Statement, ...], array: str, bounds: _Bounds, found: list[_Polynomial | None]
) -> None:
    for statement in body:
        parts: tuple[object, ...] = ()
        match statement:
            case For(name, lower, upper, _, inside):
                parts = (lower, upper)
                least, end = _extreme(polynomial(lower), bounds, False), polynomial(upper)
                last = _extreme(end, bounds, True)
                inner = {each: bound for each, bound in bounds.items() if each != name}
                if least is not None and last is not None:
                    inner[name] = least, _less_one(last)
                _collect(inside, array, inner, found)
            case Merge(body=inside):
                parts = (statement.fibers,)
                _collect(inside, array, bounds, found)
            case If(condition, then, otherwise):
                parts = (condition,)
                _collect((*then, *otherwise), array, bounds, found)
            case _:
                parts = (statement,)
        for each in nodes(parts):
            if isinstance(each, Load | Store | AugmentedStore) and each.array == array:
                largest = _extreme(polynomial(each.indices[0]), bounds, True)
                found.append(None if largest is None else _plus_one(largest))


def _extreme(value: _Polynomial, bounds: _Bounds, is_largest: bool) -> _Polynomial | None:
    """The largest or least value that a polynomial has in loops; ``None``: it is not known."""
    for _ in range(len(bounds) + 1):
        name = next((each for names in value for each in names if each in bounds), None)
        if name is None:
            return value
        replaced: _Polynomial = Counter()
        for names, factor in value.items():
            if name not in names:
                replaced[names] += factor
                continue
            if names.count(name) > 1:
                return None
            others = list(names)
            others.remove(name)
            bound = bounds[name][(factor > 0) == is_largest]
            for each, times in bound.items():
                replaced[tuple(sorted((*others, *each)))] += factor * times
        value = Counter({names: factor for names, factor in replaced.items() if factor})
    return None


def _plus_one(value: _Polynomial) -> _Polynomial:
    return Counter({**value, (): value[()] + 1})


def _less_one(value: _Polynomial) -> _Polynomial:
    return Counter({**value, (): value[()] - 1})


def _is_at_least(one: _Polynomial, other: _Polynomial) -> bool:
    return all(one[names] >= other[names] for names in {*one, *other})


def _expression(value: _Polynomial, place: Location) -> Expression:
    terms: list[Expression] = []
    for names, factor in sorted(value.items(), reverse=True):
        factors: list[Expression] = [variable(name, place) for name in names]
        if factor != 1 or not factors:
            factors.insert(0, integer(factor, place))
        if factor:
            term = factors[0]
            for each in factors[1:]:
                term = multiply(term, each, place)
            terms.append(term)
    total = terms[0] if terms else integer(0, place)
    for each in terms[1:]:
        total = add(total, each, place)
    return total

"""Statements that store a graph's tensors into arrays of its nest."""

from __future__ import annotations

from collections.abc import Callable

from gnarl.sw.workloads.loops.ir.nest import Load, Statement, Store
from gnarl.sw.workloads.loops.pytorch.loop import Loop, nested
from gnarl.sw.workloads.loops.pytorch.values import (
    Destination,
    Indices,
    Parts,
    Pooled,
    Value,
    View,
    integer,
    merged,
)
from gnarl.sw.workloads.place import Location

MakeLoop = Callable[[int, Location], Loop]
"""From the number of iterations."""


def stored(
    value: Value, to: Destination, place: Location, make_loop: MakeLoop, begun: bool = False
) -> tuple[Statement, ...]:
    """Statements that store a value. ``begun``: a sum's elements have what it begins with
    already."""
    match value:
        case Parts(parts=parts):
            return tuple(
                statement
                for part, into in parts
                for statement in stored(part, to.through(into), place, make_loop)
            )
        case Pooled():
            before = (
                ()
                if begun or value.start is None
                else _elements(value.start, to, make_loop, value.place)
            )
            return (*before, *_pooled(value, to, make_loop))
    if value.flattens is not None and (whole := merged(value.flattens, value.shape, place)):
        return stored(whole, to, place, make_loop)
    return _elements(value, to, make_loop, place)


def _elements(
    value: View, to: Destination, make_loop: MakeLoop, place: Location
) -> tuple[Statement, ...]:
    loops = [make_loop(size, place) for size in value.shape if size != 1]
    variables = iter([each.variable for each in loops])
    zero = integer(0, place)
    at: Indices = [zero if size == 1 else next(variables) for size in value.shape]
    around = loops or [make_loop(1, place)]
    return nested(around, (Store(to.array, to.at(at), value.at(at), place),))


def _pooled(value: Pooled, to: Destination, make_loop: MakeLoop) -> tuple[Statement, ...]:
    place = value.place
    loops = [make_loop(size, place) for size in value.shape[: value.outer]]
    outer = [each.variable for each in loops]
    body = value.body(to, outer)
    if value.finish is not None:
        inner = [make_loop(size, place) for size in value.shape[value.outer :]]
        at: Indices = [*outer, *(each.variable for each in inner)]
        element = value.finish(at, Load(to.array, to.at(at), value.type, place))
        body += nested(inner, (Store(to.array, to.at(at), element, place),))
    return nested(loops, body)

"""Statements that store a graph's tensors into arrays of its nest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gnarl.sw.workloads.loops.expressions.destination import Destination
from gnarl.sw.workloads.loops.ir.nest import Expression, Load, Statement, Store
from gnarl.sw.workloads.loops.pytorch.loop import Loop, nested
from gnarl.sw.workloads.loops.pytorch.values import (
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
    loops, at = _over(value.shape, make_loop, place)
    around = loops or [make_loop(1, place)]
    return nested(around, (Store(to.array, to.at(at), value.at(at), place),))


def _over(
    shape: Sequence[int], make_loop: MakeLoop, place: Location
) -> tuple[list[Loop], list[Expression]]:
    """Loops over dimensions, none over those of size 1, and the index in each."""
    loops = [make_loop(size, place) for size in shape if size != 1]
    variables = iter([each.variable for each in loops])
    return loops, [integer(0, place) if size == 1 else next(variables) for size in shape]


def _pooled(value: Pooled, to: Destination, make_loop: MakeLoop) -> tuple[Statement, ...]:
    place = value.place
    # Those of size 1, too: what becomes of elements then is in the loop of what they are.
    loops = [make_loop(size, place) for size in value.shape[: value.outer]]
    outer = [each.variable for each in loops]
    body = value.body(to, outer)
    if value.finish is not None:
        inner, at = _over(value.shape[value.outer :], make_loop, place)
        indices = [*outer, *at]
        element = value.finish(indices, Load(to.array, to.at(indices), value.type, place))
        body += nested(inner, (Store(to.array, to.at(indices), element, place),))
    return nested(loops, body)

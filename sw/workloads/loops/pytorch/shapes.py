"""Tensors whose elements have other places: in other shapes, parts, tensors joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from gnarl.sw.workloads.loops.expressions.destination import Indices
from gnarl.sw.workloads.loops.ir.nest import Expression
from gnarl.sw.workloads.loops.ir.scalar_type import ScalarType
from gnarl.sw.workloads.loops.pytorch.parameters import Parameters, promoted
from gnarl.sw.workloads.loops.pytorch.values import (
    Parts,
    Value,
    View,
    cast,
    integer,
    merged,
    placed,
    reshaped,
    scaled,
    shifted,
)
from gnarl.sw.workloads.place import Location


def reshape(parameters: Parameters, place: Location, value: Value, shape: Sequence[int]) -> Value:
    """As many elements in another shape."""
    sizes = tuple(shape)
    if not prod(sizes):
        return _without_elements(parameters.plain(value, place), sizes, place)
    view: Value | None = None
    if isinstance(value, View):
        value = value.flattens or value
        view = reshaped(value, sizes, place)
    view = view or merged(value, sizes, place)
    if view is None and isinstance(value, View):
        flat = merged(value, (prod(sizes),), place)
        view = reshaped(parameters.plain(flat, place), sizes, place)
    return view or reshape(parameters, place, parameters.plain(value, place), sizes)


def _without_elements(view: View, shape: tuple[int, ...], place: Location) -> View:
    """A view of another shape without elements: no index is ever asked for."""
    first = [integer(0, place) for _ in view.shape]
    return View(shape, view.type, lambda indices: view.at(first), zeros=view.zeros)


def select(
    parameters: Parameters, place: Location, value: Value, dimension: int, index: int
) -> View:
    view = parameters.plain(value, place)
    dimension %= len(view.shape)
    chosen = integer(index % view.shape[dimension], place)
    shape = view.shape[:dimension] + view.shape[dimension + 1 :]

    def at(indices: Indices) -> Expression:
        return view.at([*indices[:dimension], chosen, *indices[dimension:]])

    return View(shape, view.type, at, zeros=view.zeros)


def unbind(parameters: Parameters, place: Location, value: Value, dimension: int = 0) -> list[View]:
    view = parameters.plain(value, place)
    count = view.shape[dimension % len(view.shape)]
    return [select(parameters, place, view, dimension, number) for number in range(count)]


def part(
    parameters: Parameters, place: Location, value: Value, dimension: int, chosen: range
) -> View:
    """Some of the elements along a dimension."""
    view = parameters.plain(value, place)
    shape = (*view.shape[:dimension], len(chosen), *view.shape[dimension + 1 :])

    def at(indices: Indices) -> Expression:
        first = integer(chosen.start, place)
        index = shifted(scaled(indices[dimension], chosen.step, place), first, place)
        return view.at([*indices[:dimension], index, *indices[dimension + 1 :]])

    return View(shape, view.type, at, zeros=view.zeros)


def cat(
    parameters: Parameters, place: Location, values: Sequence[Value], dimension: int = 0
) -> Parts:
    """Each is stored into its part by loops of its own."""
    type = promoted(each.type for each in values)
    values = [each for each in values if each.shape != (0,)] or values[:1]
    dimension %= len(values[0].shape)
    sizes = [each.shape[dimension] for each in values]
    shape = (*values[0].shape[:dimension], sum(sizes), *values[0].shape[dimension + 1 :])

    def beginning(first: int) -> Callable[[Indices], Indices]:
        def into(indices: Indices) -> Indices:
            moved = shifted(indices[dimension], integer(first, place), place)
            return [*indices[:dimension], moved, *indices[dimension + 1 :]]

        return into

    parts = [
        part
        for number, each in enumerate(values)
        for part in placed(cast_to(type, each, place), shape, beginning(sum(sizes[:number]))).parts
    ]
    return Parts(shape, type, tuple(parts))


def cast_to(type: ScalarType, value: Value, place: Location) -> Value:
    if value.type == type:
        return value
    if isinstance(value, View):
        return View(value.shape, type, lambda indices: cast(value.at(indices), type, place))
    assert isinstance(value, Parts), "sums are of float32"
    return value.then(lambda indices, element: cast(element, type, place), type)


def stack(
    parameters: Parameters, place: Location, values: Sequence[Value], dimension: int = 0
) -> Parts:
    dimension %= len(values[0].shape) + 1
    before = values[0].shape[:dimension]
    shape = (*before, 1, *values[0].shape[dimension:])
    return cat(parameters, place, [reshape(parameters, place, v, shape) for v in values], dimension)

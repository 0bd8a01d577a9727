"""What ATen's operators mean that give elements other places: views, parts, tensors joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from gnarl.sw.workloads.loops.ir.nest import Expression
from gnarl.sw.workloads.loops.ir.scalar_type import ScalarType
from gnarl.sw.workloads.loops.pytorch.parameters import Parameters, promoted
from gnarl.sw.workloads.loops.pytorch.values import (
    Indices,
    Parts,
    Value,
    View,
    broadcast,
    cast,
    counted,
    integer,
    merged,
    placed,
    rearranged,
    reshaped,
    scaled,
    shifted,
)
from gnarl.sw.workloads.place import Location


def reshape(parameters: Parameters, place: Location, value: Value, shape: Sequence[int]) -> Value:
    known = prod(size for size in shape if size != -1)
    missing = prod(value.shape) // max(known, 1)
    sizes = tuple(missing if each == -1 else each for each in shape)
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


def unsqueeze(parameters: Parameters, place: Location, value: Value, dimension: int) -> Value:
    shape = [*value.shape]
    shape.insert(dimension % (len(shape) + 1), 1)
    return reshape(parameters, place, value, shape)


def squeeze(parameters: Parameters, place: Location, value: Value, dimensions: Any) -> Value:
    wanted = [dimensions] if isinstance(dimensions, int) else dimensions
    gone = {counted(d, len(value.shape)) for d in wanted}
    shape = [size for d, size in enumerate(value.shape) if d not in gone or size != 1]
    return reshape(parameters, place, value, shape)


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


def slice_(
    parameters: Parameters,
    place: Location,
    value: Value,
    dimension: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> View:
    view = parameters.plain(value, place)
    dimension %= len(view.shape)
    chosen = range(view.shape[dimension])[start:end:step]
    shape = (*view.shape[:dimension], len(chosen), *view.shape[dimension + 1 :])
    if shape == view.shape:
        return view

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
        for part in placed(_cast_to(type, each, place), shape, beginning(sum(sizes[:number]))).parts
    ]
    return Parts(shape, type, tuple(parts))


def _cast_to(type: ScalarType, value: Value, place: Location) -> Value:
    if value.type == type:
        return value
    if isinstance(value, View):
        return View(value.shape, type, lambda indices: cast(value.at(indices), type, place))
    assert isinstance(value, Parts), "sums are of float32"
    return value.then(lambda indices, element: cast(element, type, place), type)


def stack(
    parameters: Parameters, place: Location, values: Sequence[Value], dimension: int = 0
) -> Parts:
    wide = [unsqueeze(parameters, place, each, dimension) for each in values]
    return cat(parameters, place, wide, dimension % len(wide[0].shape))


def expand(
    parameters: Parameters,
    place: Location,
    value: Value,
    shape: Sequence[int],
    implicit: bool = False,
) -> View:
    view = parameters.plain(value, place)
    old = (1,) * (len(shape) - len(view.shape)) + view.shape
    sizes = tuple(was if size == -1 else size for size, was in zip(shape, old, strict=True))
    return broadcast(view, sizes, place)


def permute(parameters: Parameters, place: Location, value: Value, order: Sequence[int]) -> View:
    view = parameters.plain(value, place)
    old = [each % len(view.shape) for each in order]
    shape = tuple(view.shape[d] for d in old)
    return rearranged(view, shape, [old.index(d) for d in range(len(old))])


def transpose(
    parameters: Parameters, place: Location, value: Value, one: int = 0, other: int = -1
) -> View:
    order = [*range(len(value.shape))]
    if order:
        order[one], order[other] = order[other], order[one]
    return permute(parameters, place, value, order)

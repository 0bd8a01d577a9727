"""Tensors of a graph as loop nests compute them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NoReturn, TypeAlias

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.expressions.destination import Destination, Indices
from gnarl.sw.workloads.loops.ir.nest import (
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    Statement,
)
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.place import Location


@dataclass(frozen=True, eq=False)
class View:
    """A tensor whose elements are each an expression.

    array
        the parameter of the nest that it is, if it is one.
    flattens
        what it has the elements of, in one dimension.
    step
        of ``arange``: the elements are its multiples.
    zeros
        whether all elements are 0.
    """

    shape: tuple[int, ...]
    type: ScalarType
    at: Callable[[Indices], Expression]
    array: str = ""
    flattens: View | None = None
    step: int = 0
    zeros: bool = False


Change: TypeAlias = Callable[[Indices, Expression], Expression]
"""What becomes of an element, from its indices and itself."""


@dataclass(frozen=True, eq=False)
class Pooled:
    """A float32 tensor that loops add up, or take the maximum of, where it is stored.

    outer
        dimensions, the first ones, whose loops are around ``body``.
    body
        statements, from where elements go and variables of these loops. Elements begin as zeros,
        or as those of ``start``.
    finish
        what becomes of an element at last; ``None`` if nothing.
    """

    shape: tuple[int, ...]
    outer: int
    body: Callable[[Destination, Indices], tuple[Statement, ...]]
    place: Location
    finish: Change | None = None
    start: View | None = None

    @property
    def type(self) -> ScalarType:
        return FLOAT32

    def then(self, change: Change) -> Pooled:
        before = self.finish

        def finish(indices: Indices, element: Expression) -> Expression:
            return change(indices, before(indices, element) if before else element)

        return Pooled(self.shape, self.outer, self.body, self.place, finish, self.start)


@dataclass(frozen=True, eq=False)
class Parts:
    """A tensor whose parts are computed by loops of their own: each with the indices in the tensor
    of its elements."""

    shape: tuple[int, ...]
    type: ScalarType
    parts: tuple[tuple[View | Pooled, Callable[[Indices], Indices]], ...]

    def then(self, change: Change, type: ScalarType) -> Parts:
        def changed(part: View | Pooled, into: Callable[[Indices], Indices]) -> View | Pooled:
            def of(indices: Indices, element: Expression) -> Expression:
                return change(into(indices), element)

            if isinstance(part, Pooled):
                return part.then(of)
            return View(part.shape, type, lambda indices: of(indices, part.at(indices)))

        return Parts(
            self.shape, type, tuple((changed(part, into), into) for part, into in self.parts)
        )


Stepwise: TypeAlias = Pooled | Parts
"""Tensors whose elements cannot be asked for before they are stored."""

Value: TypeAlias = View | Stepwise


def integer(value: int, place: Location) -> Constant:
    return Constant(value, INT32, place)


def binary(operator: str, left: Expression, right: Expression, place: Location) -> Expression:
    return Binary(BinaryOperator(operator), left, right, place)


def shifted(index: Expression, by: Expression, place: Location) -> Expression:
    """Their sum; of constants a constant."""
    if isinstance(by, Constant) and isinstance(index, Constant):
        return integer(int(index.value + by.value), place)
    if by == integer(0, place):
        return index
    return by if index == integer(0, place) else binary("+", index, by, place)


def scaled(index: Expression, by: int, place: Location) -> Expression:
    """Their product; of constants a constant."""
    if isinstance(index, Constant):
        return integer(int(index.value) * by, place)
    return index if by == 1 else binary("*", index, integer(by, place), place)


def cast(value: Expression, type: ScalarType, place: Location) -> Expression:
    return value if value.type == type else Cast(type, value, place)


def broadcast(view: View, shape: tuple[int, ...], place: Location) -> View:
    """``shape`` has the view's dimensions at its end, where the view's may be 1."""
    if view.shape == shape:
        return view
    skipped = len(shape) - len(view.shape)

    def at(indices: Indices) -> Expression:
        own = indices[skipped:]
        pairs = zip(own, view.shape, strict=True)
        return view.at([integer(0, place) if size == 1 else each for each, size in pairs])

    return View(shape, view.type, at, zeros=view.zeros)


def rearranged(view: View, shape: tuple[int, ...], dimensions: Sequence[int | None]) -> View:
    """Dimension d of ``view`` is ``dimensions[d]`` of the new one, or its index is 0."""

    def at(indices: Indices) -> Expression:
        place = indices[0].place if indices else Location("", 1, 1)
        return view.at([integer(0, place) if d is None else indices[d] for d in dimensions])

    return View(shape, view.type, at, zeros=view.zeros)


def reshaped(view: View, shape: tuple[int, ...], place: Location) -> View | None:
    """A view of as many elements: dimensions of 1 come or go, one becomes several, or all become
    one; else none."""
    if shape == view.shape:
        return view
    groups = _groups(view.shape, shape)
    if groups is not None:
        return View(
            shape,
            view.type,
            lambda indices: view.at(_linear(indices, shape, groups, place)),
            zeros=view.zeros,
        )
    if len(shape) != 1:
        return None

    def at(indices: Indices) -> Expression:
        (index,) = indices
        parts = []
        for d, size in enumerate(view.shape):
            inside = prod(view.shape[d + 1 :])
            part = index
            if inside != 1:
                part = binary("//", part, integer(inside, place), place)
            if d:
                part = binary("%", part, integer(size, place), place)
            parts.append(part)
        return view.at(parts)

    return View(shape, view.type, at, flattens=view, zeros=view.zeros)


def merged(value: Value, shape: tuple[int, ...], place: Location) -> Parts | None:
    """A value of as many elements: dimensions of 1 come or go, and several become one; else
    none."""
    groups = _groups(shape, value.shape)
    if groups is None:
        return None

    def into(indices: Indices) -> Indices:
        return _linear(indices, value.shape, groups, place)

    return placed(value, shape, into)


def placed(value: Value, shape: tuple[int, ...], into: Callable[[Indices], Indices]) -> Parts:
    """A value as part of a tensor of ``shape``, or all of it."""
    if not isinstance(value, Parts):
        return Parts(shape, value.type, ((value, into),))

    def behind(inner: Callable[[Indices], Indices]) -> Callable[[Indices], Indices]:
        return lambda indices: into(inner(indices))

    return Parts(shape, value.type, tuple((part, behind(inner)) for part, inner in value.parts))


def _groups(shape: Sequence[int], parts: Sequence[int]) -> list[list[int]] | None:
    """The neighbouring dimensions of ``parts`` of which each of ``shape`` is the product."""
    groups, at = [], 0
    for size in shape:
        group, product = [], 1
        while product != size and at < len(parts):
            group.append(at)
            product *= parts[at]
            at += 1
        if product != size:
            return None
        groups.append(group)
    return groups if all(size == 1 for size in parts[at:]) else None


def _linear(
    indices: Indices, sizes: Sequence[int], groups: Sequence[Sequence[int]], place: Location
) -> Indices:
    """One index for each of ``groups``, which are dimensions of ``sizes``."""
    split: list[Expression] = []
    for group in groups:
        index: Expression | None = None
        for d in group:
            if sizes[d] == 1:
                continue
            row = None if index is None else scaled(index, sizes[d], place)
            index = indices[d] if row is None else shifted(row, indices[d], place)
        split.append(integer(0, place) if index is None else index)
    return split


def refuse(place: Location, text: str) -> NoReturn:
    raise WorkloadError(f"{place}: {text}")

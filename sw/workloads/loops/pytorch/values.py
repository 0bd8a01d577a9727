"""Tensors of a graph as loop nests compute them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn, TypeAlias

import numpy as np

from hw.lib.errors import WorkloadError
from sw.workloads.loops.nest import (
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    Statement,
)
from sw.workloads.loops.place import Place
from sw.workloads.loops.scalar_type import FLOAT32, INT32, ScalarType

Indices: TypeAlias = Sequence[Expression]


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


@dataclass(frozen=True, eq=False)
class Pooled:
    """A float32 tensor that loops add up, or take the maximum of, in the result's array.

    outer
        dimensions, the first ones, whose loops are around ``body``.
    body
        statements, from the result's name and variables of these loops. Their results begin as
        zeros, or as what the parameter ``start`` has.
    finish
        what becomes of an element at last, from its indices and itself; ``None`` if nothing.
    """

    shape: tuple[int, ...]
    outer: int
    body: Callable[[str, Indices], tuple[Statement, ...]]
    place: Place
    finish: Callable[[Indices, Expression], Expression] | None = None
    start: str = ""

    @property
    def type(self) -> ScalarType:
        return FLOAT32

    def then(self, change: Callable[[Indices, Expression], Expression]) -> Pooled:
        before = self.finish

        def finish(indices: Indices, element: Expression) -> Expression:
            return change(indices, before(indices, element) if before else element)

        return Pooled(self.shape, self.outer, self.body, self.place, finish, self.start)


Value: TypeAlias = View | Pooled


def integer(value: int, place: Place) -> Constant:
    return Constant(value, INT32, place)


def number(value: float, type: ScalarType, place: Place) -> Constant:
    """Rounded to float32, if it is not of an integer type."""
    if type.is_integer:
        return Constant(int(value), type, place)
    with np.errstate(over="ignore"):
        return Constant(float(np.float32(value)), FLOAT32, place)


def binary(operator: str, left: Expression, right: Expression, place: Place) -> Expression:
    return Binary(BinaryOperator(operator), left, right, place)


def cast(value: Expression, type: ScalarType, place: Place) -> Expression:
    return value if value.type == type else Cast(type, value, place)


def broadcast(view: View, shape: tuple[int, ...], place: Place) -> View:
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
        place = indices[0].place if indices else Place("", 1, 1)
        return view.at([integer(0, place) if d is None else indices[d] for d in dimensions])

    return View(shape, view.type, at, zeros=view.zeros)


def reshaped(view: View, shape: tuple[int, ...], place: Place) -> View | None:
    """Of as many elements: the same but for dimensions of 1, or in one dimension; else none."""
    if shape == view.shape:
        return view
    kept = [d for d, size in enumerate(shape) if size != 1]
    if [shape[d] for d in kept] == [size for size in view.shape if size != 1]:
        rest = iter(kept)
        return rearranged(view, shape, [None if size == 1 else next(rest) for size in view.shape])
    if len(shape) != 1:
        return None

    def at(indices: Indices) -> Expression:
        (index,) = indices
        found = []
        for d, size in enumerate(view.shape):
            inside = prod(view.shape[d + 1 :])
            part = index
            if inside != 1:
                part = binary("//", part, integer(inside, place), place)
            if d:
                part = binary("%", part, integer(size, place), place)
            found.append(part)
        return view.at(found)

    return View(shape, view.type, at, flattens=view, zeros=view.zeros)


def plain(value: Any, place: Place) -> View:
    """Refuses sums, of which elements cannot be asked for while they are added up."""
    if isinstance(value, View):
        return value
    if isinstance(value, Pooled):
        refuse(place, f"takes a result of {value.place}, which is a sum: only elementwise may")
    refuse(place, "takes a sparse matrix: only the first operand of a product may be one")


def refuse(place: Place, text: str) -> NoReturn:
    raise WorkloadError(f"{place}: {text}")

"""What ATen's operators mean that look up, join or scatter.

Source: PyTorch's documentation of ``torch`` and ``torch.nn.functional``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gnarl.sw.workloads.loops.element_functions import number
from gnarl.sw.workloads.loops.expressions.destination import Indices
from gnarl.sw.workloads.loops.ir.nest import Expression
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.loops.pytorch import einsums, shapes
from gnarl.sw.workloads.loops.pytorch.parameters import TYPE_NAMES, Parameters, type_of
from gnarl.sw.workloads.loops.pytorch.pooling import embedding_bag, index_add
from gnarl.sw.workloads.loops.pytorch.values import (
    Value,
    View,
    broadcast,
    cast,
    integer,
    refuse,
    scaled,
    shifted,
)
from gnarl.sw.workloads.place import Location

_EXACT = 1 << 24
"""Up to here float32 has all whole numbers."""

Operator = Callable[..., Any]
"""From the nest's parameters, the operator's place and its arguments."""


def _embedding(
    parameters: Parameters, place: Location, weight: Value, indices: Value, *arguments: Any
) -> View:
    return _index_select(parameters, place, weight, 0, indices)


def _index_select(
    parameters: Parameters, place: Location, value: Value, dimension: int, index: Value
) -> View:
    """``index`` of any number of dimensions, which stand for that one of ``value``."""
    view, places = parameters.plain(value, place), parameters.plain(index, place)
    if not view.shape:
        refuse(place, "of a tensor without dimensions: must have one")
    dimension %= len(view.shape)
    before, order = view.shape[:dimension], len(places.shape)
    shape = before + places.shape + view.shape[dimension + 1 :]

    def at(indices: Indices) -> Expression:
        chosen = cast(places.at(indices[dimension : dimension + order]), INT32, place)
        return view.at([*indices[:dimension], chosen, *indices[dimension + order :]])

    return View(shape, view.type, at)


def _index(
    parameters: Parameters, place: Location, value: Value, chosen: Sequence[Value | None]
) -> View:
    """Indices for some dimensions, broadcast together."""
    view = parameters.plain(value, place)
    indices_of = {
        d: parameters.plain(each, place) for d, each in enumerate(chosen) if each is not None
    }
    common_shape = tuple(np.broadcast_shapes(*(each.shape for each in indices_of.values())))
    wide = {d: broadcast(each, common_shape, place) for d, each in indices_of.items()}
    numbers = [*indices_of]
    adjacent = numbers == [*range(numbers[0], numbers[-1] + 1)]
    first, order = numbers[0] if adjacent else 0, len(common_shape)
    kept = [d for d in range(len(view.shape)) if d not in indices_of]
    sizes = [view.shape[d] for d in kept]
    shape = (*sizes[:first], *common_shape, *sizes[first:])

    def at(indices: Indices) -> Expression:
        looked_up, rest = (
            indices[first : first + order],
            [
                *indices[:first],
                *indices[first + order :],
            ],
        )
        others = dict(zip(kept, rest, strict=True))
        return view.at(
            [
                others[d] if d in others else cast(wide[d].at(looked_up), INT32, place)
                for d in range(len(view.shape))
            ]
        )

    return View(shape, view.type, at)


def _wanted(dtype: Any, place: Location) -> ScalarType:
    return type_of(dtype) or refuse(place, f"of {dtype}: must be of {TYPE_NAMES}")


def _constant(
    value: float,
    parameters: Parameters,
    place: Location,
    like: Any,
    dtype: Any = None,
    **named: Any,
) -> View:
    """A constant of the shape ``like``, or of the shape and type of that tensor."""
    is_tensor = isinstance(like, Value)
    shape = like.shape if is_tensor else tuple(like)
    type = like.type if is_tensor else FLOAT32
    if dtype is not None:
        type = _wanted(dtype, place)
    return View(shape, type, lambda indices: number(value, type, place), zeros=value == 0)


def _arange(
    parameters: Parameters,
    place: Location,
    start: int,
    end: int,
    step: int = 1,
    *,
    dtype: Any = None,
    **named: Any,
) -> View:
    if not all(isinstance(each, int) for each in (start, end, step)):
        refuse(place, "arange: must be of whole numbers")
    type = INT32 if dtype is None else _wanted(dtype, place)
    numbers = range(start, end, step)
    least, most = (INT32.least, INT32.most) if type.is_integer else (-_EXACT, _EXACT)
    for each in (*numbers[:1], *numbers[-1:]):
        if not least <= each <= most:
            refuse(place, f"arange: {each} of {type}: must be from {least} to {most}")

    def at(indices: Indices) -> Expression:
        whole = shifted(scaled(indices[0], step, place), integer(start, place), place)
        return cast(whole, type, place)

    return View((len(numbers),), type, at, step=step if type == INT32 and not start else 0)


def _arange_to(parameters: Parameters, place: Location, end: int, **named: Any) -> View:
    return _arange(parameters, place, 0, end, **named)


OPERATORS: dict[str, Operator] = {
    "aten.embedding.default": _embedding,
    "aten.index_select.default": _index_select,
    "aten.index.Tensor": _index,
    "aten.zeros.default": partial(_constant, 0.0),
    "aten.zeros_like.default": partial(_constant, 0.0),
    "aten.ones.default": partial(_constant, 1.0),
    "aten.ones_like.default": partial(_constant, 1.0),
    "aten.arange.default": _arange_to,
    "aten.arange.start": _arange,
    "aten.arange.start_step": _arange,
    "aten.select.int": shapes.select,
    "aten.unbind.int": shapes.unbind,
    "aten.cat.default": shapes.cat,
    "aten.stack.default": shapes.stack,
    "aten.embedding_bag.padding_idx": embedding_bag,
    "aten.index_add.default": index_add,
}
"""By their names: those that Einsum programs do not have."""

SUPPORTED = frozenset((*OPERATORS, *einsums.OPERATORS))
"""The names of all operators."""

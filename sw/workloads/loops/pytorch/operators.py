"""What ATen's operators mean. Source: PyTorch's documentation of ``torch.nn.functional``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import Expression, Unary, UnaryOperator
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.loops.pytorch import shapes
from gnarl.sw.workloads.loops.pytorch.parameters import TYPE_NAMES, Parameters, promoted, type_of
from gnarl.sw.workloads.loops.pytorch.pooling import embedding_bag, index_add, mean, sparse_mm, sum_
from gnarl.sw.workloads.loops.pytorch.values import (
    Change,
    Indices,
    Pooled,
    Stepwise,
    Value,
    View,
    binary,
    broadcast,
    cast,
    integer,
    number,
    refuse,
    scaled,
    shifted,
)
from gnarl.sw.workloads.place import Location

_EXACT = 1 << 24
"""Up to here float32 has all whole numbers."""

Operator = Callable[..., Any]
"""From the nest's parameters, the operator's place and its arguments."""


def _two(
    operator: str,
    parameters: Parameters,
    place: Location,
    left: Any,
    right: Any,
    *,
    alpha: float = 1,
) -> Value:
    """Applies an operator to two tensors, or a tensor and a number. ``alpha``: a factor of the
    right one."""
    type = _type(left, right)
    if operator == "/":
        type = FLOAT32
    shape = tuple(np.broadcast_shapes(*(_shape(each) for each in (left, right))))

    def apply(a: Expression, b: Expression) -> Expression:
        if alpha != 1:
            b = binary("*", b, number(alpha, type, place), place)
        return binary(operator, a, b, place)

    # Of two sums one is stored first, and one that is broadcast.
    if isinstance(right, Stepwise) and right.shape != shape:
        right = parameters.plain(right, place)
    if isinstance(left, Stepwise) and (isinstance(right, Stepwise) or left.shape != shape):
        left = parameters.plain(left, place)
    if isinstance(left, Stepwise):
        other = _operand(right, shape, type, place)
        return _then(left, lambda at, element: apply(cast(element, type, place), other(at)), type)
    if isinstance(right, Stepwise):
        first = _operand(left, shape, type, place)
        return _then(right, lambda at, element: apply(first(at), cast(element, type, place)), type)
    a, b = (_operand(each, shape, type, place) for each in (left, right))
    return View(shape, type, lambda indices: apply(a(indices), b(indices)))


def _then(value: Stepwise, change: Change, type: ScalarType) -> Value:
    return value.then(change) if isinstance(value, Pooled) else value.then(change, type)


def _subtracted(
    parameters: Parameters, place: Location, right: Any, left: Any, alpha: float = 1
) -> Value:
    return _two("-", parameters, place, left, right, alpha=alpha)


def _operand(
    value: Any, shape: tuple[int, ...], type: ScalarType, place: Location
) -> Callable[[Indices], Expression]:
    if not isinstance(value, View):
        return lambda indices: number(value, type, place)
    view = broadcast(value, shape, place)
    return lambda indices: cast(view.at(indices), type, place)


def _type(left: Any, right: Any) -> ScalarType:
    """PyTorch's promotion: the type of a tensor without dimensions, or of a number, counts only
    where it is float32, or nothing has dimensions."""
    tensors = [each for each in (left, right) if isinstance(each, Value)]
    if any(isinstance(each, float) for each in (left, right)):
        return FLOAT32
    if any(each.type == FLOAT32 for each in tensors):
        return FLOAT32
    return promoted(each.type for each in [each for each in tensors if each.shape] or tensors)


def _shape(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, Value) else ()


def _one(
    change: Callable[[Expression, Location], Expression],
    parameters: Parameters,
    place: Location,
    value: Value,
) -> Value:
    if not isinstance(value, View):
        return _then(value, lambda indices, element: change(element, place), value.type)
    return View(value.shape, value.type, lambda indices: change(value.at(indices), place))


def _unary(operator: UnaryOperator, value: Expression, place: Location) -> Expression:
    return Unary(operator, value, place)


def _relu(value: Expression, place: Location) -> Expression:
    return binary("max", value, number(0, value.type, place), place)


def _same(
    parameters: Parameters, place: Location, value: Any, *arguments: Any, **named: Any
) -> Any:
    return value


def _item(parameters: Parameters, place: Location, values: Any, number: int) -> Any:
    if isinstance(values, list):
        return values[number]
    if number:
        refuse(place, "embedding_bag: only its first result is supported")
    return values


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


_BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "maximum": "max",
    "minimum": "min",
}
_SAME = ("alias", "clone", "contiguous", "detach", "lift_fresh_copy")

OPERATORS: dict[str, Operator] = {
    **{f"aten.{name}.Tensor": partial(_two, sign) for name, sign in _BINARY.items()},
    **{f"aten.{name}.default": partial(_two, _BINARY[name]) for name in ("maximum", "minimum")},
    **{f"aten.{name}.default": _same for name in _SAME},
    "aten.rsub.Scalar": _subtracted,
    "aten.neg.default": partial(_one, partial(_unary, UnaryOperator.NEGATE)),
    "aten.abs.default": partial(_one, partial(_unary, UnaryOperator.ABS)),
    "aten.sqrt.default": partial(_one, partial(_unary, UnaryOperator.SQRT)),
    "aten.relu.default": partial(_one, _relu),
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
    "aten.view.default": shapes.reshape,
    "aten.reshape.default": shapes.reshape,
    "aten._unsafe_view.default": shapes.reshape,
    "aten.unsqueeze.default": shapes.unsqueeze,
    "aten.squeeze.dim": shapes.squeeze,
    "aten.squeeze.dims": shapes.squeeze,
    "aten.select.int": shapes.select,
    "aten.slice.Tensor": shapes.slice_,
    "aten.unbind.int": shapes.unbind,
    "aten.cat.default": shapes.cat,
    "aten.stack.default": shapes.stack,
    "aten.expand.default": shapes.expand,
    "aten.permute.default": shapes.permute,
    "aten.transpose.int": shapes.transpose,
    "aten.t.default": shapes.transpose,
    "aten.embedding_bag.padding_idx": embedding_bag,
    "aten.index_add.default": index_add,
    **{f"aten.{name}.default": sparse_mm for name in ("_sparse_mm", "mm", "matmul")},
    "aten.sum.dim_IntList": sum_,
    "aten.sum.default": sum_,
    "aten.mean.dim": mean,
    "aten.mean.default": mean,
    "getitem": _item,
}
"""Operators by their names."""

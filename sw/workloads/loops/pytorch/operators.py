"""What ATen's operators mean. Source: PyTorch's documentation of ``torch.nn.functional``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from sw.workloads.loops.nest import Expression, Unary, UnaryOperator
from sw.workloads.loops.place import Place
from sw.workloads.loops.pytorch.parameters import TYPE_NAMES, Parameters, type_of
from sw.workloads.loops.pytorch.pooling import embedding_bag, index_add, sparse_mm, sum_
from sw.workloads.loops.pytorch.values import (
    Indices,
    Pooled,
    Value,
    View,
    binary,
    broadcast,
    cast,
    integer,
    number,
    plain,
    rearranged,
    refuse,
    reshaped,
)
from sw.workloads.loops.scalar_type import FLOAT32, INT32, ScalarType, common

Operator = Callable[..., Any]
"""From the nest's parameters, the operator's place and its arguments."""


def _two(
    operator: str, parameters: Parameters, place: Place, left: Any, right: Any, *, alpha: float = 1
) -> Value:
    """Of two tensors, or a tensor and a number. ``alpha``: a factor of the right one."""
    type = _type(left, right, place)
    if operator == "/":
        type = FLOAT32
    shape = tuple(np.broadcast_shapes(*(_shape(each) for each in (left, right))))
    pooled = [each for each in (left, right) if isinstance(each, Pooled)]
    if len(pooled) == 2:
        refuse(place, "both operands are sums: at most one may be")

    def apply(a: Expression, b: Expression) -> Expression:
        if alpha != 1:
            b = binary("*", b, number(alpha, type, place), place)
        return binary(operator, a, b, place)

    if pooled:
        (sums,) = pooled
        if sums.shape != shape:
            refuse(place, f"a sum of shape {[*sums.shape]} is broadcast: must not be")
        other = _operand(right if sums is left else left, shape, type, place)

        def change(indices: Indices, element: Expression) -> Expression:
            found = other(indices)
            return apply(element, found) if sums is left else apply(found, element)

        return sums.then(change)
    a, b = (_operand(each, shape, type, place) for each in (left, right))
    return View(shape, type, lambda indices: apply(a(indices), b(indices)))


def _subtracted(
    parameters: Parameters, place: Place, right: Any, left: Any, alpha: float = 1
) -> Value:
    return _two("-", parameters, place, left, right, alpha=alpha)


def _operand(
    value: Any, shape: tuple[int, ...], type: ScalarType, place: Place
) -> Callable[[Indices], Expression]:
    if not isinstance(value, View):
        return lambda indices: number(value, type, place)
    view = broadcast(value, shape, place)
    return lambda indices: cast(view.at(indices), type, place)


def _type(left: Any, right: Any, place: Place) -> ScalarType:
    """PyTorch's promotion: a number is of its kind only where the tensor's is less."""
    types = [each.type for each in (left, right) if isinstance(each, View | Pooled)]
    if any(isinstance(each, float) for each in (left, right)):
        types.append(FLOAT32)
    if FLOAT32 in types:
        return FLOAT32
    found = types[0] if len(types) == 1 else common(types[0], types[1])
    return found or INT32


def _shape(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, View | Pooled) else ()


def _one(
    change: Callable[[Expression, Place], Expression],
    parameters: Parameters,
    place: Place,
    value: Value,
) -> Value:
    if isinstance(value, Pooled):
        return value.then(lambda indices, element: change(element, place))
    return View(value.shape, value.type, lambda indices: change(value.at(indices), place))


def _unary(operator: UnaryOperator, value: Expression, place: Place) -> Expression:
    return Unary(operator, value, place)


def _relu(value: Expression, place: Place) -> Expression:
    return binary("max", value, number(0, value.type, place), place)


def _same(parameters: Parameters, place: Place, value: Any, *arguments: Any, **named: Any) -> Any:
    return value


def _item(parameters: Parameters, place: Place, values: Any, number: int) -> Any:
    if number:
        refuse(place, "embedding_bag: only its first result is supported")
    return values


def _embedding(
    parameters: Parameters, place: Place, weight: Value, indices: Value, *arguments: Any
) -> View:
    return _index_select(parameters, place, weight, 0, indices)


def _index_select(
    parameters: Parameters, place: Place, value: Value, dimension: int, index: Value
) -> View:
    """``index`` of any number of dimensions, which stand for that one of ``value``."""
    view, places = plain(value, place), plain(index, place)
    dimension %= len(view.shape)
    before, order = view.shape[:dimension], len(places.shape)
    shape = before + places.shape + view.shape[dimension + 1 :]

    def at(indices: Indices) -> Expression:
        chosen = cast(places.at(indices[dimension : dimension + order]), INT32, place)
        return view.at([*indices[:dimension], chosen, *indices[dimension + order :]])

    return View(shape, view.type, at)


def _index(
    parameters: Parameters, place: Place, value: Value, chosen: Sequence[Value | None]
) -> View:
    """Indices for some dimensions, broadcast together."""
    view = plain(value, place)
    given = {d: plain(each, place) for d, each in enumerate(chosen) if each is not None}
    common_shape = tuple(np.broadcast_shapes(*(each.shape for each in given.values())))
    wide = {d: broadcast(each, common_shape, place) for d, each in given.items()}
    numbers = [*given]
    adjacent = numbers == [*range(numbers[0], numbers[-1] + 1)]
    first, order = numbers[0] if adjacent else 0, len(common_shape)
    kept = [d for d in range(len(view.shape)) if d not in given]
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


def _constant(
    value: float,
    parameters: Parameters,
    place: Place,
    like: Any,
    dtype: Any = None,
    **named: Any,
) -> View:
    """Of the shape ``like``, or of the shape and type of that tensor."""
    is_tensor = isinstance(like, View | Pooled)
    shape = like.shape if is_tensor else tuple(like)
    type = like.type if is_tensor else FLOAT32
    if dtype is not None:
        type = type_of(dtype) or refuse(place, f"of {dtype}: must be of {TYPE_NAMES}")
    return View(shape, type, lambda indices: number(value, type, place), zeros=value == 0)


def _arange(
    parameters: Parameters, place: Place, start: int, end: int, step: int = 1, **named: Any
) -> View:
    if not all(isinstance(each, int) for each in (start, end, step)):
        refuse(place, "arange: must be of whole numbers")

    def at(indices: Indices) -> Expression:
        scaled = binary("*", indices[0], integer(step, place), place)
        return binary("+", scaled, integer(start, place), place)

    size = max(0, -(-(end - start) // step))
    return View((size,), INT32, at, step=0 if start else step)


def _reshape(parameters: Parameters, place: Place, value: Value, shape: Sequence[int]) -> View:
    view = plain(value, place)
    known = prod(size for size in shape if size != -1)
    missing = prod(view.shape) // max(known, 1)
    found = reshaped(view, tuple(missing if each == -1 else each for each in shape), place)
    if found is None:
        refuse(
            place,
            f"from {[*view.shape]} to {[*shape]}: only dimensions of 1 may come or go, or all "
            "become one",
        )
    return found


def _unsqueeze(parameters: Parameters, place: Place, value: Value, dimension: int) -> View:
    view = plain(value, place)
    shape = [*view.shape]
    shape.insert(dimension % (len(shape) + 1), 1)
    return _reshape(parameters, place, view, shape)


def _squeeze(parameters: Parameters, place: Place, value: Value, dimensions: Any) -> View:
    view = plain(value, place)
    wanted = [dimensions] if isinstance(dimensions, int) else dimensions
    gone = {d % len(view.shape) for d in wanted}
    shape = [size for d, size in enumerate(view.shape) if d not in gone or size != 1]
    return _reshape(parameters, place, view, shape)


def _expand(
    parameters: Parameters,
    place: Place,
    value: Value,
    shape: Sequence[int],
    implicit: bool = False,
) -> View:
    view = plain(value, place)
    old = (1,) * (len(shape) - len(view.shape)) + view.shape
    sizes = tuple(was if size == -1 else size for size, was in zip(shape, old, strict=True))
    return broadcast(view, sizes, place)


def _permute(parameters: Parameters, place: Place, value: Value, order: Sequence[int]) -> View:
    view = plain(value, place)
    old = [each % len(view.shape) for each in order]
    shape = tuple(view.shape[d] for d in old)
    return rearranged(view, shape, [old.index(d) for d in range(len(old))])


def _transpose(
    parameters: Parameters, place: Place, value: Value, one: int = 0, other: int = -1
) -> View:
    order = [*range(len(value.shape))]
    order[one], order[other] = order[other], order[one]
    return _permute(parameters, place, value, order)


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
    "aten.arange.start_step": _arange,
    "aten.view.default": _reshape,
    "aten.reshape.default": _reshape,
    "aten._unsafe_view.default": _reshape,
    "aten.unsqueeze.default": _unsqueeze,
    "aten.squeeze.dim": _squeeze,
    "aten.squeeze.dims": _squeeze,
    "aten.expand.default": _expand,
    "aten.permute.default": _permute,
    "aten.transpose.int": _transpose,
    "aten.t.default": _transpose,
    "aten.embedding_bag.padding_idx": embedding_bag,
    "aten.index_add.default": index_add,
    **{f"aten.{name}.default": sparse_mm for name in ("_sparse_mm", "mm", "matmul")},
    "aten.sum.dim_IntList": sum_,
    "aten.sum.default": sum_,
    "getitem": _item,
}
"""By their names."""

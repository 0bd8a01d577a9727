"""Operators that compute element by element, as ``einsum.pytorch.elementwise`` defines them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any, NoReturn

import numpy as np

from gnarl.sw.workloads.einsum.program import EinsumExpression
from gnarl.sw.workloads.einsum.pytorch.elementwise import ELEMENTWISE
from gnarl.sw.workloads.loops.element_functions import element as nest_element
from gnarl.sw.workloads.loops.element_functions import number
from gnarl.sw.workloads.loops.ir.nest import Expression
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, ScalarType
from gnarl.sw.workloads.loops.pytorch.parameters import Parameters, promoted
from gnarl.sw.workloads.loops.pytorch.values import (
    Indices,
    Pooled,
    Stepwise,
    Value,
    View,
    broadcast,
    cast,
    refuse,
)
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant

_QUOTIENTS = ("div", "reciprocal")


def _lowered(operator: Callable[..., Any]) -> Callable[..., Value]:
    """From the nest's parameters, the place and the operator's arguments."""

    def lowered(parameters: Parameters, place: Location, *arguments: Any, **named: Any) -> Value:
        step = _Step(parameters, place)
        try:
            signature(operator).bind(step, *arguments, **named)
        except TypeError as error:
            refuse(place, f"{error}: not supported")
        value: Value = operator(step, *arguments, **named)
        return value

    return lowered


class _Step:
    """An operator of the graph, which computes values of a nest: the part of
    ``einsum.pytorch.statements.Step`` that works on elements."""

    def __init__(self, parameters: Parameters, place: Location) -> None:
        self._parameters, self._place = parameters, place

    def refuse(self, text: str) -> NoReturn:
        refuse(self._place, text)

    def elementwise(self, element: Callable[..., EinsumExpression], *operands: Any) -> Value:
        """What a function gives of the elements of operands, which are broadcast."""
        place = self._place
        expression = element(*(Access(str(at), ()) for at in range(len(operands))))
        type, calls = _type(operands), [*_parts(expression)]
        if any(isinstance(each, Call) and each.function in _QUOTIENTS for each in calls):
            type = FLOAT32
        if type.is_integer and any(isinstance(each, Constant) and each.value % 1 for each in calls):
            refuse(place, f"of {type}: must be of float32")
        nest_element(expression, lambda access: number(0, type, place), place, type)
        shape = tuple(np.broadcast_shapes(*map(_shape, operands)))
        values, chosen = self._stored(operands, shape, calls)

        def value(elements: dict[int, Expression], indices: Indices) -> Expression:
            def leaf(access: Access) -> Expression:
                at = int(access.tensor)
                if at in elements:
                    return cast(elements[at], type, place)
                return _operand(values[at], shape, type, place)(indices)

            return nest_element(expression, leaf, place, type)

        if chosen is None:
            return View(shape, type, lambda indices: value({}, indices))
        return _then(values[chosen], lambda at, each: value({chosen: each}, at), type)

    def _stored(
        self, operands: tuple[Any, ...], shape: tuple[int, ...], calls: list[EinsumExpression]
    ) -> tuple[list[Any], int | None]:
        """The operands, of which at most one, the place of which is given, is not stored yet: the
        last one that is taken once and not broadcast."""
        values, chosen = [*operands], None
        for at in reversed(range(len(values))):
            if not isinstance(values[at], View | int | float):
                is_once = calls.count(Access(str(at), ())) == 1
                is_whole = isinstance(values[at], Stepwise) and values[at].shape == shape
                if chosen is None and is_once and is_whole:
                    chosen = at
                else:
                    values[at] = self._parameters.plain(values[at], self._place)
        return values, chosen


def _parts(expression: EinsumExpression) -> Iterator[EinsumExpression]:
    """All parts, but one operand of an absolute value, which is written as a maximum."""
    yield expression
    match expression:
        case Call("max", (part, Call("neg", (other,)))) if part == other:
            yield from _parts(part)
        case Call(_, arguments):
            for each in arguments:
                yield from _parts(each)


def _then(value: Stepwise, change: Callable[..., Expression], type: ScalarType) -> Value:
    return value.then(change) if isinstance(value, Pooled) else value.then(change, type)


def _operand(
    value: Any, shape: tuple[int, ...], type: ScalarType, place: Location
) -> Callable[[Indices], Expression]:
    if not isinstance(value, View):
        return lambda indices: number(value, type, place)
    view = broadcast(value, shape, place)
    return lambda indices: cast(view.at(indices), type, place)


def _type(operands: tuple[Any, ...]) -> ScalarType:
    """PyTorch's promotion: the type of a tensor without dimensions, or of a number, counts only
    where it is float32, or nothing has dimensions."""
    tensors = [each for each in operands if isinstance(each, Value)]
    if any(isinstance(each, float) for each in operands):
        return FLOAT32
    if any(each.type == FLOAT32 for each in tensors):
        return FLOAT32
    return promoted(each.type for each in [each for each in tensors if each.shape] or tensors)


def _shape(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, Value) else ()


_ABSENT = {f"aten.{name}.default" for name in ("exp", "gelu", "log", "sigmoid", "silu", "tanh")}
"""Those with functions that nests do not have."""

OPERATORS: dict[str, Callable[..., Value]] = {
    name: _lowered(operator) for name, operator in ELEMENTWISE.items() if name not in _ABSENT
}
"""By their names."""

"""Graphs of PyTorch's operators as loop nests.

What is elementwise, or looks up, becomes an expression; what adds up becomes loops, of which a
graph may have one kind. Integers are int32, and indices below 0 do not count from the end.
"""

from __future__ import annotations

from collections.abc import Hashable
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from hw.lib.errors import WorkloadError
from sw.workloads.loops.nest import Expression, Load, Nest, Statement, Store
from sw.workloads.loops.place import Place
from sw.workloads.loops.pytorch.export import Exported, export, load, place_of
from sw.workloads.loops.pytorch.operators import OPERATORS
from sw.workloads.loops.pytorch.parameters import Parameters, nested
from sw.workloads.loops.pytorch.values import Pooled, Value, View, integer
from sw.workloads.loops.scalar_type import FLOAT32
from sw.workloads.loops.verify import verify
from sw.workloads.loops.workload import LoopWorkload

RESULT = "result"


def module_workload(module: Any, inputs: Any) -> LoopWorkload:
    """A module with the arguments of its ``forward``, see ``export.export``.

    The nest's arrays are called as the module calls its parameters and inputs, with _ for dots;
    sparse matrices are several. Raises ``WorkloadError`` naming the operator and its line.
    """
    return _workload(export(module, inputs))


def file_workload(path: str | Path) -> LoopWorkload:
    """From a file of ``torch.export.save``. Raises ``WorkloadError``."""
    return _workload(load(path))


def _workload(graph: Exported) -> LoopWorkload:
    parameters = Parameters(graph)
    value, place = _value(graph, parameters)
    name = parameters.name(RESULT)
    if isinstance(value, Pooled):
        name, body = _pooled(value, name, parameters)
    elif value.type != FLOAT32:
        raise WorkloadError(f"{place}: the result is {value.type}: must be float32")
    else:
        body = _stored(value, name, parameters, place)
    if name not in parameters.arrays:
        parameters.declare(name, FLOAT32, value.shape or (1,), place)
    nest_name = "".join(each if each.isalnum() and each.isascii() else "_" for each in graph.name)
    nest = Nest(parameters.name(nest_name), (), tuple(parameters.arrays.values()), body, place)
    verify(nest)
    inputs: dict[str, np.ndarray] = parameters.data
    return LoopWorkload(graph.name, nest, inputs)


def _value(graph: Exported, parameters: Parameters) -> tuple[Value, Place]:
    """The graph's result, and where it stands."""
    values: dict[Any, Any] = {}

    def of(argument: Any) -> Any:
        if isinstance(argument, list | tuple):
            return [of(each) for each in argument]
        return (
            values[argument] if isinstance(argument, Hashable) and argument in values else argument
        )

    place = graph.start
    for node in graph.nodes:
        place = place_of(node, place)
        match node.op:
            case "placeholder":
                values[node] = parameters.placeholder(node, graph.start)
            case "output":
                return _only(of(node.args[0]), graph, place), place
            case _:
                values[node] = _call(node, of, parameters, place)
    raise AssertionError("a graph without an output")


def _call(node: Any, of: Any, parameters: Parameters, place: Place) -> Any:
    name = node.target.__name__ if node.target.__name__ == "getitem" else str(node.target)
    operator = OPERATORS.get(name)
    if operator is None:
        raise WorkloadError(
            f"{place}: {name}: not supported: must be of "
            f"{', '.join(sorted({_short(each) for each in OPERATORS}))}"
        )
    shape = getattr(node.meta.get("val"), "shape", ())
    if not all(isinstance(size, int) for size in shape):
        raise WorkloadError(f"{place}: {name}: its shape depends on values: must be known")
    arguments = [of(each) for each in node.args]
    named = {key: of(each) for key, each in node.kwargs.items()}
    try:
        signature(operator).bind(parameters, place, *arguments, **named)
    except TypeError as error:
        raise WorkloadError(f"{place}: {name}: {error}: not supported") from None
    try:
        return operator(parameters, place, *arguments, **named)
    except WorkloadError as error:
        raise WorkloadError(str(error).replace(f"{place}: ", f"{place}: {name}: ", 1)) from None


def _short(name: str) -> str:
    return name.removeprefix("aten.").partition(".")[0]


def _only(outputs: list[Any], graph: Exported, place: Place) -> Value:
    if len(outputs) != 1 or not isinstance(outputs[0], View | Pooled):
        raise WorkloadError(f"{graph.name}: must give one dense tensor")
    return outputs[0]


def _pooled(value: Pooled, name: str, parameters: Parameters) -> tuple[str, tuple[Statement, ...]]:
    """The array that has the result, and what makes it."""
    place = value.place
    loops = [parameters.loop(size, place) for size in value.shape[: value.outer]]
    outer = [each.variable for each in loops]
    if value.start:
        name = value.start
    body = value.body(name, outer)
    if value.start and _loads(body, name):
        raise WorkloadError(f"{place}: {name} is read while it is added to: must not be")
    if value.finish is not None:
        inner = [parameters.loop(size, place) for size in value.shape[value.outer :]]
        at: tuple[Expression, ...] = (*outer, *(each.variable for each in inner))
        stored = at or (integer(0, place),)
        element = value.finish(at, Load(name, stored, FLOAT32, place))
        body += nested(inner, (Store(name, stored, element, place),))
    return name, nested(loops, body)


def _loads(node: Any, array: str) -> bool:
    """Whether an element of the array is read anywhere in a statement or an expression."""
    if isinstance(node, Load) and node.array == array:
        return True
    if isinstance(node, tuple):
        return any(_loads(each, array) for each in node)
    fields = getattr(node, "__dataclass_fields__", ())
    return any(_loads(getattr(node, name), array) for name in fields)


def _stored(value: View, name: str, parameters: Parameters, place: Place) -> tuple[Statement, ...]:
    loops = [parameters.loop(size, place) for size in value.shape]
    at: tuple[Expression, ...] = tuple(each.variable for each in loops)
    stored = Store(name, at or (integer(0, place),), value.at(at), place)
    return nested(loops, (stored,))

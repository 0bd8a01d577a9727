"""Graphs of PyTorch's operators as loop nests.

Operators of Einsum programs are lowered to their statements. What is elementwise, or looks up,
becomes an expression; what adds up becomes loops that store it, into a result if nothing else takes
it. Integers are int32, and indices below 0 do not count from
the end.
"""

from __future__ import annotations

from collections.abc import Hashable
from inspect import signature
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.pytorch.lowering import WITHOUT_RESULT, not_of
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.verify import verify
from gnarl.sw.workloads.loops.pytorch import einsums
from gnarl.sw.workloads.loops.pytorch.operators import OPERATORS, SUPPORTED
from gnarl.sw.workloads.loops.pytorch.parameters import Parameters
from gnarl.sw.workloads.loops.pytorch.values import Pooled, Stepwise, Value
from gnarl.sw.workloads.loops.workload import LoopWorkload
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.pytorch.export import (
    Exported,
    operator_name,
    place_of,
)


def graph_workload(graph: Exported) -> LoopWorkload:
    """The workload of a graph. Raises ``WorkloadError`` naming the operator and its line."""
    parameters = Parameters(graph)
    place, results = _Lowering(graph, parameters).run()
    declared = parameters.arrays
    order = [*(each for each in declared if each not in results), *results]
    arrays = tuple(declared[name] for name in order)
    nest = Nest(parameters.name(graph.name), (), arrays, parameters.body, place)
    verify(nest)
    inputs: dict[str, np.ndarray] = parameters.data
    return LoopWorkload(
        graph.name,
        nest,
        inputs,
        temporaries=frozenset(parameters.temporaries),
        bag_offsets=parameters.bag_offsets,
    )


class _Lowering:
    def __init__(self, graph: Exported, parameters: Parameters) -> None:
        self._graph, self._parameters = graph, parameters
        *self._nodes, output = graph.nodes
        self._results = [*zip(output.args[0], graph.results, strict=True)]
        self._values: dict[Any, Any] = {}
        self._places: dict[Any, Location] = {}

    def run(self) -> tuple[Location, list[str]]:
        """Lowers all operators; returns the location of the last, and the arrays of results in
        order."""
        place = self._graph.start
        stored: dict[str, str] = {}
        for node in self._nodes:
            place = self._places[node] = place_of(node, place)
            value = self._values[node] = self._value(node, place)
            if isinstance(value, Stepwise) and len(node.users) > 1:
                # What several take is computed once.
                for name in [name for each, name in self._results if each is node][:1]:
                    stored[name] = self._parameters.name(name)
                    self._parameters.store(value, stored[name], place)
                self._values[node] = self._parameters.plain(value, place)
        self._parameters.count_uses([self._of(node) for node, _ in self._results])
        names = [stored.get(name) or self._stored(node, name) for node, name in self._results]
        return place, names

    def _value(self, node: Any, place: Location) -> Any:
        if node.op == "placeholder":
            return self._parameters.placeholder(node, self._graph.start)
        return _call(node, self._of, self._parameters, place)

    def _of(self, argument: Any) -> Any:
        if isinstance(argument, list | tuple):
            return [self._of(each) for each in argument]
        if isinstance(argument, Hashable) and argument in self._values:
            return self._values[argument]
        return argument

    def _stored(self, node: Any, name: str) -> str:
        """The array. What ``index_add`` adds to, and nothing else takes, is its result, too."""
        parameters, value = self._parameters, self._of(node)
        if not isinstance(value, Value):
            raise WorkloadError(f"{self._graph.name}: {name}: must be a dense tensor")
        if isinstance(value, Pooled) and (start := value.start) and start.array:
            if parameters.uses[start.array] == 1:
                parameters.read(start, value.place)
                parameters.store(value, start.array, value.place, begun=True)
                return start.array
        name = parameters.name(name)
        parameters.store(value, name, self._places[node])
        return name


def _call(node: Any, of: Any, parameters: Parameters, place: Location) -> Any:
    name, like = operator_name(node), node.meta.get("val")
    if name in WITHOUT_RESULT:
        return None
    if name not in SUPPORTED:
        raise WorkloadError(f"{place}: {not_of(name, SUPPORTED)}")
    shape = getattr(like, "shape", ())
    if not all(isinstance(size, int) for size in shape):
        raise WorkloadError(f"{place}: {name}: its shape depends on values: must be known")
    arguments = [of(each) for each in node.args]
    named = {key: of(each) for key, each in node.kwargs.items()}
    try:
        if name in OPERATORS:
            result = _own(name, parameters, place, arguments, named)
        else:
            result = einsums.lowered(name, like, parameters, place, arguments, named)
    except WorkloadError as error:
        raise WorkloadError(str(error).replace(f"{place}: ", f"{place}: {name}: ", 1)) from None
    if all(each is not result for each in arguments):
        parameters.count_uses([*arguments, *named.values()])
    return result


def _own(
    name: str,
    parameters: Parameters,
    place: Location,
    arguments: list[Any],
    named: dict[str, Any],
) -> Any:
    try:
        signature(OPERATORS[name]).bind(parameters, place, *arguments, **named)
    except TypeError as error:
        raise WorkloadError(f"{place}: {error}: not supported") from None
    return OPERATORS[name](parameters, place, *arguments, **named)

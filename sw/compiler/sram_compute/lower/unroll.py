"""Steps of a whole program at given sizes: loops that run in order are unrolled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hw.lib.errors import WorkloadError
from hw.sram_compute.config import SramConfig
from sw.compiler.sram_compute.lower import movement
from sw.compiler.sram_compute.lower.lattice import Shape, padded, tiling_of
from sw.compiler.sram_compute.lower.schedule import Schedule
from sw.compiler.sram_compute.lower.select import UnsupportedError, bits_of, calculate
from sw.compiler.sram_compute.lower.steps import Calculate, Fill, Keep, Move, Step, Value
from sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Compute,
    Const,
    Graph,
    Node,
    Output,
    Reduce,
    Shrink,
    Stream,
    Tensor,
)
from sw.compiler.sram_compute.tdfg.graph import Move as MoveNode
from sw.compiler.sram_compute.tdfg.interpret import Cells, check_accesses, concrete, is_empty
from sw.compiler.sram_compute.tdfg.plan import Elsewhere, Region, Repeat
from sw.compiler.sram_compute.tdfg.plan import Step as Planned
from sw.compiler.sram_compute.tdfg.run import iterations
from sw.compiler.sram_compute.tiles import Tiling
from sw.workloads.loops.binding import Binding
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.scalar_type import ScalarType


@dataclass
class Lowering:
    """Steps, and what they are about: each array's type and three sizes, dimension 0 first."""

    tiling: Tiling
    arrays: dict[str, tuple[ScalarType, Shape]]
    steps: list[Step] = field(default_factory=list)


def unroll(
    nest: Nest,
    plan: tuple[Planned, ...],
    binding: Binding,
    config: SramConfig,
    schedule: Schedule,
) -> Lowering:
    """``schedule`` orders the nodes of each region. Raises ``WorkloadError`` for what banks do not
    compute and for iterations that leave an array, ``CapacityError``. O(nodes x iterations of loops
    in order)."""
    arrays = {
        name: (array.type, padded(binding.arrays[name].shape[::-1]))
        for name, array in nest.arrays.items()
    }
    for name, (_, shape) in arrays.items():
        if min(shape) == 0:
            raise WorkloadError(f"{name}: has no element: must have some to be placed in memory")
    found = Lowering(tiling_of(arrays, config), arrays)
    values = {name: Value(type.bits, array=name) for name, (type, _) in arrays.items()}
    unroller = _Unroller(found, values, binding, config, schedule)
    unroller.run(plan, dict(binding.sizes))
    found.steps += [Keep(values[name], name) for name in nest.results]
    return found


class _Unroller:
    def __init__(
        self,
        lowering: Lowering,
        values: dict[str, Value],
        binding: Binding,
        config: SramConfig,
        schedule: Schedule,
    ) -> None:
        self._schedule = schedule
        self._lowering = lowering
        self._tiling = lowering.tiling
        self._steps = lowering.steps
        self._values = values
        self._binding = binding
        self._config = config
        self._operations = config.operations
        self._constants: dict[tuple[int, int], Value] = {}
        self._ordered: dict[int, Graph] = {}

    def run(self, plan: tuple[Planned, ...], names: Mapping[str, int]) -> None:
        for step in plan:
            match step:
                case Region(graph):
                    self._region(self._scheduled(graph), names)
                case Repeat(variable, body=body):
                    for value in iterations(step, names, self._binding):
                        self.run(body, {**names, variable: value})
                case Elsewhere(reason):
                    raise WorkloadError(reason)

    def _scheduled(self, graph: Graph) -> Graph:
        if id(graph) not in self._ordered:
            self._ordered[id(graph)] = self._schedule(graph)
        return self._ordered[id(graph)]

    def _region(self, graph: Graph, sizes: Mapping[str, int]) -> None:
        names = graph.names(sizes)
        check_accesses(graph, self._binding.arrays, names)
        if all(is_empty(concrete(output.box, names)) for output in graph.outputs):
            return
        given: list[Value] = []
        for node in graph.nodes:
            given.append(self._node(node, given, graph, names))
        for output in graph.outputs:
            self._output(output, given[output.node], graph, names)

    def _cells(self, cells: Cells) -> Cells:
        """With three dimensions."""
        return (*cells, *((0, 1),) * (len(self._tiling.shape) - len(cells)))

    def _domain(self, number: int, graph: Graph, names: Mapping[str, int]) -> Cells:
        return self._cells(concrete(graph.domains[number], names))

    def _constant(self, bits: int, rows: int) -> Value:
        key = bits, rows
        if key not in self._constants:
            self._constants[key] = Value(rows, constant=bits)
        return self._constants[key]

    def _node(
        self, node: Node, given: list[Value], graph: Graph, names: Mapping[str, int]
    ) -> Value:
        match node:
            case Tensor(array):
                return self._values[array]
            case Const(value, type):
                number = self._binding.scalars[value].item() if isinstance(value, str) else value
                return self._constant(bits_of(number, type), type.bits)
            case Shrink(operand):
                return given[operand]
            case MoveNode(operand, dimension, distance):
                cells = self._domain(operand, graph, names)
                by = distance.value(names)
                found = movement.move(cells, self._tiling, dimension, by, self._config.tiles)
                return self._moved(given[operand], found)
            case Broadcast(operand, dimension):
                cells = self._domain(operand, graph, names)
                place, end = cells[dimension]
                if end - place != 1:
                    raise WorkloadError(f"copies of {end - place} cells are not supported")
                low, high = concrete(graph.domains[len(given)], names)[dimension]
                spread = (*cells[:dimension], (low, high), *cells[dimension + 1 :])
                found = movement.broadcast(
                    place, spread, self._tiling, dimension, self._config.tiles
                )
                return self._moved(given[operand], found)
            case Compute(function, operands, type):
                typed = [(given[each], graph.nodes[each].type) for each in operands]
                return self._computed(function, typed, type)
            case Reduce(function, operand, dimension, type):
                cells = self._domain(operand, graph, names)
                return self._reduced(function, given[operand], dimension, cells, type)
            case Stream(array):
                raise WorkloadError(f"{array}: is gathered: banks compute on boxes of cells alone")

    def _moved(self, operand: Value, movements: list[movement.Movement]) -> Value:
        result = Value(operand.rows)
        self._steps.append(Move(operand, result, tuple(movements), is_partial=False))
        return result

    def _computed(
        self, function: str, operands: list[tuple[Value, ScalarType]], type: ScalarType
    ) -> Value:
        result = Value(type.bits)
        try:
            self._steps += calculate(function, operands, result, type, self._operations)
        except UnsupportedError as error:
            raise WorkloadError(f"{error}: banks have no operation for it") from None
        return result

    def _copied(self, operand: Value) -> Value:
        result = Value(operand.rows)
        if operand.constant is not None:
            self._steps.append(Fill(result, operand.constant))
        else:
            named = self._operations["move"]
            self._steps.append(Calculate(named, operand.rows, result, operand, may_replace=False))
        return result

    def _reduced(
        self, function: str, operand: Value, dimension: int, cells: Cells, type: ScalarType
    ) -> Value:
        """By halves; what has no partner is combined with what changes nothing."""
        low, high = cells[dimension]
        total = operand
        identity = _identity(function, type)
        if low >= high:
            return self._constant(identity, type.bits)
        while high - low > 1:
            half = 1 << (high - low - 1).bit_length() - 1
            upper = (*cells[:dimension], (low + half, high), *cells[dimension + 1 :])
            partner = Value(type.bits)
            self._steps.append(Fill(partner, identity))
            found = movement.move(upper, self._tiling, dimension, -half, self._config.tiles)
            self._steps.append(Move(total, partner, tuple(found), is_partial=True))
            total = self._computed(function, [(total, type), (partner, type)], type)
            high = low + half
        return total

    def _output(self, output: Output, value: Value, graph: Graph, names: Mapping[str, int]) -> None:
        cells = self._cells(concrete(output.box, names))
        if is_empty(cells):
            return
        _, shape = self._lowering.arrays[output.array]
        others = [each for name, each in self._values.items() if name != output.array]
        if cells == tuple((0, size) for size in shape):
            is_own = value.array is None and value.constant is None and value not in others
            self._values[output.array] = value if is_own else self._copied(value)
            return
        result = self._values[output.array]
        if result.array is not None or result in others:
            result = self._values[output.array] = self._copied(result)
        found = movement.copy(cells, self._tiling)
        self._steps.append(Move(value, result, tuple(found), is_partial=True))


def _identity(function: str, type: ScalarType) -> int:
    """The bits of what changes nothing."""
    if type.is_integer:
        number: float = {"+": 0, "min": type.most, "max": type.least}[function]
    else:
        number = {"+": -0.0, "min": np.inf, "max": -np.inf}[function]
    return bits_of(number, type)

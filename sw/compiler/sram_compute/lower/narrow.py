"""Integers in as many rows as their values need, not as many as their types have.

    cast int32 (a: int8) * cast int32 (b: int8)   →   a * b: int16

Forwards, each node has a range, which follows from the types of arrays and scalars; backwards, a
demand: how many of its low bits are of use. A sum, difference, product, choice or shift to the left
is computed modulo 2^n of what is demanded, if that is less than its range needs; all else gets
operands that have their values. Arrays and lanes that add up keep the bits of their types: the
former lie in memory like that, the latter are as many as sizes say, which are not known yet.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gnarl.hw.sram_compute.operations import CONVERTED_WIDTHS
from gnarl.sw.compiler.sram_compute.optimise.costs import graph_cost
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Builder,
    Compute,
    Const,
    Graph,
    Move,
    Node,
    Reduce,
    Shrink,
    only_used,
    operands,
    with_operands,
)
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, ScalarType

_AT_ENDS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "min": min,
    "max": max,
}
"""Functions whose least and greatest results come from the ends of their operands' ranges."""

_MODULAR = ("+", "-", "*", "neg", "<<", "select")
"""The low bits of whose results follow from those of their operands."""


@dataclass(frozen=True)
class Range:
    """The numbers from ``least`` to ``most``."""

    least: int
    most: int

    @property
    def bits(self) -> int:
        """How many bits its numbers need, including a sign if some are negative."""
        if self.least >= 0:
            return max(1, self.most.bit_length())
        return max((-self.least - 1).bit_length(), max(0, self.most).bit_length()) + 1

    def __or__(self, other: Range) -> Range:
        return Range(min(self.least, other.least), max(self.most, other.most))

    def has(self, other: Range) -> bool:
        """Whether all numbers of another range are in this one."""
        return self.least <= other.least and other.most <= self.most

    def type(self, bits: int) -> ScalarType:
        """An integer type of that many bits, which has the numbers if there are enough of them."""
        kind = "u" if self.least >= 0 else "i"
        return ScalarType(f"{'' if kind == 'i' else 'u'}int{bits}", kind, bits)


def narrowed(graph: Graph) -> Graph:
    """A graph of the same values, or the same one, if that seems cheaper. O(nodes)."""
    found = _Narrower(graph).graph()
    return found if graph_cost(found) < graph_cost(graph) else graph


class _Narrower:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._ranges: list[Range | None] = []
        for node in graph.nodes:
            is_integer = node.type.is_integer
            self._ranges.append(_range(node, self._ranges, graph) if is_integer else None)
        self._given = {each.value: each.type for each in graph.nodes if isinstance(each, Const)}
        """The types of scalars, by name."""
        self._demands = [0] * len(graph.nodes)
        self._builder = Builder()
        self._made: list[int] = []

    def graph(self) -> Graph:
        graph = self._graph
        for output in graph.outputs:
            self._demand(output.node, graph.nodes[output.node].type.bits)
        for number in reversed(range(len(graph.nodes))):
            self._demand_operands(number)
        for number, node in enumerate(graph.nodes):
            self._made.append(self._make(number, node))
        outputs = tuple(
            replace(each, node=self._as_wide(each.node, graph.nodes[each.node].type))
            for each in graph.outputs
        )
        return only_used(replace(graph, nodes=tuple(self._builder.nodes), outputs=outputs))

    def _range(self, number: int) -> Range:
        found = self._ranges[number]
        assert found is not None
        return found

    def _is_integer(self, number: int) -> bool:
        return self._ranges[number] is not None

    def _demand(self, number: int, bits: int) -> None:
        self._demands[number] = max(self._demands[number], bits)

    def _demand_operands(self, number: int) -> None:
        node = self._graph.nodes[number]
        for operand in operands(node):
            if not self._is_integer(operand):
                continue
            if self._is_modular(number):
                self._demand(operand, self._width(number))
            elif isinstance(node, Move | Broadcast | Shrink):
                self._demand(operand, self._demands[number])
            else:
                self._demand(operand, self._range(operand).bits)

    def _is_modular(self, number: int) -> bool:
        """Whether it is computed modulo 2^n of its own width."""
        match self._graph.nodes[number]:
            case Compute("cast", (operand,), type):
                return type.is_integer and self._is_integer(operand)
            case Compute(function, type=type):
                return type.is_integer and function in _MODULAR
            case Reduce(function, type=type):
                return type.is_integer and function == "+"
        return False

    def _width(self, number: int) -> int:
        """The width of a node that is modular."""
        node, demanded = self._graph.nodes[number], self._demands[number]
        if isinstance(node, Reduce):
            return min(node.type.bits, demanded)
        bits = min(self._range(number).bits, demanded)
        if isinstance(node, Compute) and node.function == "<<":
            return max(bits, self._range(node.operands[1]).most + 1)
        return bits

    def _make(self, number: int, node: Node) -> int:
        new_operands = [self._made[each] for each in operands(node)]
        add, graph = self._builder.add, self._graph
        match node:
            case Move() | Broadcast() | Shrink():
                moved = with_operands(node, new_operands)
                return add(replace(moved, type=self._builder.nodes[new_operands[0]].type))
            case Const() if self._is_integer(number):
                return add(replace(node, type=self._range(number).type(self._range(number).bits)))
            case Reduce() if self._is_integer(number):
                bits = self._width(number) if node.function == "+" else self._range(number).bits
                type = self._range(number).type(bits)
                return add(replace(node, operand=self._exactly(node.operand, type), type=type))
            case Compute("cast", (operand,), type) if self._is_integer(operand):
                return self._cast(number, operand, type)
            case Compute("<<" | ">>" as function, (operand, count)):
                bits = max(self._range(operand).bits, self._range(count).most + 1)
                bits = self._width(number) if function == "<<" else bits
                type = self._range(number).type(bits)
                places = add(graph.nodes[count])
                return add(Compute(function, (self._extended(operand, type), places), type))
            case Compute("select", (condition, *values)) if self._is_integer(number):
                type = self._range(number).type(self._width(number))
                chosen = [self._extended(each, type) for each in values]
                return add(Compute("select", (self._made[condition], *chosen), type))
            case Compute(function, sides) if self._is_integer(sides[-1]):
                return self._computed(number, function, sides)
        return add(with_operands(node, new_operands))

    def _cast(self, number: int, operand: int, type: ScalarType) -> int:
        """A cast of an integer."""
        if type == FLOAT32:
            known = self._range(operand)
            bits = min(each for each in CONVERTED_WIDTHS if each >= known.bits)
            exact = self._exactly(operand, known.type(bits))
            return self._builder.add(Compute("cast", (exact,), type))
        if self._range(number) == self._range(operand):
            return self._made[operand]
        return self._exactly(operand, self._range(number).type(self._width(number)))

    def _computed(self, number: int, function: str, sides: Sequence[int]) -> int:
        whole = self._range(sides[0])
        for each in sides[1:]:
            whole |= self._range(each)
        result, fit = self._ranges[number], self._extended
        if result is None:
            operating, type = whole.type(whole.bits), self._graph.nodes[number].type
        elif function in _MODULAR:
            operating = type = result.type(self._width(number))
            if function == "*" and type.bits == 2 * whole.bits:
                operating, fit = whole.type(whole.bits), self._as_wide
        else:
            whole |= result
            operating, type = whole.type(whole.bits), result.type(whole.bits)
        new_operands = tuple(fit(each, operating) for each in sides)
        return self._builder.add(Compute(function, new_operands, type))

    def _extended(self, number: int, type: ScalarType) -> int:
        """A node's value in at least as many rows as ``type`` has."""
        made = self._made[number]
        if self._builder.nodes[made].type.bits >= type.bits:
            return made
        return self._exactly(number, type)

    def _exactly(self, number: int, type: ScalarType) -> int:
        """The node in as many rows, and of that type."""
        made = self._made[number]
        node = self._builder.nodes[made]
        if node.type == type:
            return made
        if isinstance(node, Const) and (type.bits <= node.type.bits or self._is_itself(node)):
            return self._builder.add(replace(node, type=type))
        return self._builder.add(Compute("cast", (made,), type))

    def _is_itself(self, node: Const) -> bool:
        """Whether its value is the constant's or scalar's own, and not what low bits make of it."""
        if isinstance(node.value, str):
            return _whole(node.type).has(_whole(self._given[node.value]))
        return node.type.least <= node.value <= node.type.most

    def _as_wide(self, number: int, type: ScalarType) -> int:
        """The node in as many rows; what they are taken for does not matter."""
        made = self._made[number]
        is_as_wide = self._builder.nodes[made].type.bits == type.bits
        return made if is_as_wide else self._exactly(number, type)


def _range(node: Node, known: Sequence[Range | None], graph: Graph) -> Range:
    """The range of an integer node, given those of the nodes that it reads."""
    whole = _whole(node.type)
    operand_ranges = [known[each] for each in operands(node)]
    match node:
        case Const(value) if not isinstance(value, str):
            return Range(int(value), int(value))
        case Move() | Broadcast() | Shrink():
            numbers = operand_ranges[0]
        case Reduce(function):
            numbers = operand_ranges[0] if function != "+" else None
        case Compute("select"):
            _, chosen, other = operand_ranges
            numbers = chosen | other if chosen is not None and other is not None else None
        case Compute(function) if all(operand_ranges):
            numbers = _computed(function, [each for each in operand_ranges if each is not None])
        case _:
            numbers = None
    return numbers if numbers is not None and whole.has(numbers) else whole


def _whole(type: ScalarType) -> Range:
    """All numbers of an integer type."""
    return Range(type.least, type.most)


def _computed(function: str, given: Sequence[Range]) -> Range | None:
    """The range of exact results; ``None`` where nothing is known."""
    one, other = given[0], given[-1]
    if function in _AT_ENDS:
        of = _AT_ENDS[function]
        return _hull([of(a, b) for a in (one.least, one.most) for b in (other.least, other.most)])
    match function:
        case "cast":
            return one
        case "neg":
            return Range(-one.most, -one.least)
        case "abs":
            least = 0 if one.least <= 0 <= one.most else min(abs(one.least), abs(one.most))
            return Range(least, max(abs(one.least), abs(one.most)))
        case "//" if other.least == other.most:
            return _hull([one.least // other.least, one.most // other.least])
        case "%" if other.least > 0:
            return Range(0, other.most - 1)
        case "%" if other.most < 0:
            return Range(other.least + 1, 0)
    return None


def _hull(values: Sequence[int]) -> Range:
    return Range(min(values), max(values))

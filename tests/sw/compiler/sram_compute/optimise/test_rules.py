"""The rules of appendix A: both sides have the same values in the same cells, where a rule's
condition holds; and why it has one."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gnarl.sw.compiler.sram_compute.optimise.encode import Encoding
from gnarl.sw.compiler.sram_compute.optimise.extract import Chosen, choose, read_egraph
from gnarl.sw.compiler.sram_compute.optimise.rules import RULES, Rule
from gnarl.sw.compiler.sram_compute.optimise.saturate import Limits, Saturation
from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, at, interval, number
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Compute,
    Const,
    Graph,
    Move,
    Node,
    Output,
    Shrink,
    Tensor,
)
from gnarl.sw.compiler.sram_compute.tdfg.interpret import Values, evaluate, is_empty
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.place import Location

pytest.importorskip("egglog")

SHAPE = (5, 4)
NUMBERED = {f"{rule.equation}-{at}": rule for at, rule in enumerate(RULES)}
SIGNATURES = {
    "C1": "FT",
    "C2": "FTT",
    "C3": "FTTT",
    "Mv": "TIB",
    "Bc": "TIBC",
    "S": "TILU",
}


def parsed(text: str) -> Any:
    """Nested lists of words."""
    stack: list[list[Any]] = [[]]
    for word in re.findall(r'"[^"]*"|[()]|[^\s()]+', text):
        if word == "(":
            stack.append([])
        elif word == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(word)
    return stack[0][0]


class Instance:
    """A rule's side as nodes, with random values for its variables."""

    def __init__(self, draw: Any, type: ScalarType, has_flags: bool) -> None:
        self.draw, self.type, self.has_flags = draw, type, has_flags
        self.nodes: list[Node] = []
        self.known: dict[str, Any] = {}

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def add(self, node: Node) -> int:
        if node in self.nodes:
            return self.nodes.index(node)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def variable(self, name: str, make: Any) -> Any:
        if name not in self.known:
            self.known[name] = make()
        return self.known[name]

    def leaf(self, name: str, is_flat: bool) -> int:
        is_flag = self.has_flags and name == "a"
        if is_flat:
            value = self.integer(-3, 3)
            if is_flag:
                return self.add(Const(value > 0, BOOL))
            return self.add(Const(float(value) if self.type == FLOAT32 else value, self.type))
        whole = (interval(number(0), number(SHAPE[0])), interval(number(0), number(SHAPE[1])))
        found = self.add(Tensor(name, whole, self.type))
        if is_flag:
            zero = self.add(Const(0.0 if self.type == FLOAT32 else 0, self.type))
            found = self.add(Compute("<", (found, zero), BOOL))
        return found

    def number(self, term: Any, low: int, high: int) -> int:
        if isinstance(term, list):
            left, right = (self.number(each, low, high) for each in term[1:])
            return left + right if term[0] == "+" else left - right
        if re.fullmatch(r"-?\d+", term):
            return int(term)
        return self.variable(term, lambda: self.integer(low, high))

    def bound(self, term: Any, low: int, high: int) -> Affine:
        if isinstance(term, list):
            return number(self.number(term[2], low, high))
        return number(self.variable(term, lambda: self.integer(low, high)))

    def term(self, term: Any, flat: set[str]) -> int:
        if not isinstance(term, list):
            return self.variable(term, lambda: self.leaf(term, term in flat))
        kind, *arguments = term
        found: dict[str, Any] = {}
        operands = []
        for role, argument in zip(SIGNATURES[kind], arguments, strict=True):
            match role:
                case "T":
                    operands.append(self.term(argument, flat))
                case "I":
                    found["I"] = self.variable(argument, lambda: self.integer(0, 1))
                case "F":
                    found["F"] = argument
                case "B":
                    found["B"] = self.bound(argument, -4, 4)
                case "C":
                    found["C"] = self.bound(argument, 0, 6)
                case "L":
                    found["L"] = self.bound(argument, 0, 3)
                case "U":
                    found["U"] = self.bound(argument, 1, 5)
        type = self.nodes[operands[-1]].type
        if kind == "Mv":
            return self.add(Move(operands[0], found["I"], found["B"], type))
        if kind == "Bc":
            return self.add(Broadcast(operands[0], found["I"], found["B"], found["C"], type))
        if kind == "S":
            kept = interval(found["L"], found["U"])
            return self.add(Shrink(operands[0], found["I"], kept, type))
        names = {1: ["neg", "abs"], 2: ["+", "*", "min", "-"], 3: ["select"]}[len(operands)]
        function = self.variable(found["F"], lambda: self.draw(st.sampled_from(names)))
        return self.add(Compute(function, tuple(operands), type))


def graph_of(nodes: list[Node]) -> Graph:
    sizes = tuple(map(number, SHAPE))
    root = len(nodes) - 1
    outputs = (Output("a", root, (at(number(0)),) * 2, Location("", 1, 1)),)
    return Graph(tuple(nodes), outputs, sizes, tuple((name, sizes) for name in "abc"), ())


def arrays(type: ScalarType) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(5)
    shape = SHAPE[::-1]
    if type == INT32:
        return {name: chance.integers(-99, 99, shape, np.int32) for name in "abc"}
    return {name: chance.standard_normal(shape, np.float32) for name in "abc"}


def value_of(graph: Graph, type: ScalarType) -> Values:
    return evaluate(graph, arrays(type), {}, {})[graph.outputs[0].node]


def require_same(one: Values, other: Values) -> None:
    if one.cells is not None and is_empty(one.cells):
        assert other.cells is not None and is_empty(other.cells)
        return
    assert one.cells == other.cells
    assert one.values.tobytes() == other.values.tobytes()


def equal_graphs(graph: Graph, rules: list[Rule]) -> list[Graph]:
    """Graphs that rules find, one for each term of the output's class."""
    encoding = Encoding(graph)
    saturation = Saturation(encoding, reassociate=False, rules=rules)
    saturation.run("reorder", Limits(), time.monotonic())
    egraph = read_egraph(saturation.egraph_text())
    chosen = choose(egraph, lambda term: 1)
    root = egraph.roots[graph.outputs[0].node]
    found = []
    for term in egraph.classes[root]:
        terms = Chosen({**chosen.terms, root: term})
        if root not in {name for each in term.operands for name in chosen.in_order([each])}:
            found.append(encoding.graph_of(terms, egraph.roots))
    return found


@pytest.mark.parametrize("name", NUMBERED)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_both_sides_are_equal(name: str, data: Any):
    rule = NUMBERED[name]
    type = data.draw(st.sampled_from([INT32, FLOAT32]))
    flat = set(re.findall(r"\(flat (\w)\)", rule.when))
    sides = [rule.left, rule.right] if rule.both else [rule.left]
    instance = Instance(data.draw, type, "(C3" in rule.left)
    if rule.equation in ("6a", "7a", "8a"):
        instance.known |= {"i": 0, "j": 1}
    try:
        instance.term(parsed(data.draw(st.sampled_from(sides))), flat)
        graph = graph_of(instance.nodes)
        wanted = value_of(graph, type)
    except ValueError:
        assume(False)  # copies of an unknown number of cells
    for each in equal_graphs(graph, [rule]):
        require_same(value_of(each, type), wanted)


def whole(name: str, type: ScalarType = INT32) -> Tensor:
    return Tensor(name, tuple(interval(number(0), number(size)) for size in SHAPE), type)


def test_all_rules_are_applied_to_the_example_of_the_appendix():
    one = Compute("*", (0, 1), INT32)
    nodes: list[Node] = [
        whole("a"),
        Const(3, INT32),
        Shrink(0, 0, interval(number(0), number(3)), INT32),
        Move(2, 0, number(1), INT32),
        Compute("*", (3, 1), INT32),
    ]
    found = equal_graphs(graph_of(nodes), list(RULES))
    assert any(one in each.nodes and len(each.nodes) <= 5 for each in found)


def test_moves_back_and_forth_lose_what_leaves_the_lattice():
    nodes: list[Node] = [whole("a"), Move(0, 0, number(2), INT32), Move(1, 0, number(-2), INT32)]
    found = value_of(graph_of(nodes), INT32)
    assert found.cells == ((0, 3), (0, 4))
    for each in equal_graphs(graph_of(nodes), list(RULES)):
        require_same(value_of(each, INT32), found)


def test_8b_as_printed_is_wrong_for_more_than_one_cell():
    nodes: list[Node] = [
        Tensor("a", (interval(number(0), number(2)), interval(number(0), number(4))), INT32),
        Broadcast(0, 0, number(0), number(2), INT32),
        Shrink(1, 0, interval(number(1), number(3)), INT32),
    ]
    printed = [nodes[0], Broadcast(0, 0, number(1), number(2), INT32)]
    found, other = value_of(graph_of(nodes), INT32), value_of(graph_of(printed), INT32)
    assert found.cells != other.cells
    for each in equal_graphs(graph_of(nodes), list(RULES)):
        require_same(value_of(each, INT32), found)


def test_8b_as_printed_is_wrong_beyond_the_copies():
    nodes: list[Node] = [
        Tensor("a", (at(number(0)), interval(number(0), number(4))), INT32),
        Broadcast(0, 0, number(1), number(2), INT32),
        Shrink(1, 0, interval(number(0), number(5)), INT32),
    ]
    found = value_of(graph_of(nodes), INT32)
    assert found.cells == ((1, 3), (0, 4))
    for each in equal_graphs(graph_of(nodes), list(RULES)):
        require_same(value_of(each, INT32), found)


def test_4b_is_wrong_for_operands_from_different_cells():
    lines: list[Node] = [
        Tensor(name, (at(number(place)), interval(number(0), number(4))), INT32)
        for name, place in (("a", 0), ("b", 1))
    ]
    nodes = [
        *lines,
        Broadcast(0, 0, number(0), number(4), INT32),
        Broadcast(1, 0, number(0), number(4), INT32),
        Compute("+", (2, 3), INT32),
    ]
    found = value_of(graph_of(nodes), INT32)
    assert found.cells == ((1, 4), (0, 4))
    swapped = [*lines, Compute("+", (0, 1), INT32), Broadcast(2, 0, number(0), number(4), INT32)]
    other = value_of(graph_of(swapped), INT32)
    assert other.cells is not None and is_empty(other.cells)
    for each in equal_graphs(graph_of(nodes), list(RULES)):
        require_same(value_of(each, INT32), found)


@pytest.mark.parametrize("equation", ["3a", "3c"])
def test_other_orders_round_otherwise(equation: str):
    """So floats have them only where they may be reassociated."""
    inner = "+" if equation == "3a" else "*"
    nodes: list[Node] = [whole(name, FLOAT32) for name in "abc"]
    if equation == "3a":
        nodes += [Compute("+", (0, 1), FLOAT32), Compute("+", (3, 2), FLOAT32)]
        others = [*nodes[:3], Compute("+", (1, 2), FLOAT32), Compute("+", (0, 3), FLOAT32)]
    else:
        products = [Compute(inner, (0, 1), FLOAT32), Compute(inner, (0, 2), FLOAT32)]
        nodes += [*products, Compute("+", (3, 4), FLOAT32)]
        others = [*nodes[:3], Compute("+", (1, 2), FLOAT32), Compute(inner, (0, 3), FLOAT32)]
    found, other = value_of(graph_of(nodes), FLOAT32), value_of(graph_of(others), FLOAT32)
    assert found.values.tobytes() != other.values.tobytes()
    for each in equal_graphs(graph_of(nodes), list(RULES)):
        require_same(value_of(each, FLOAT32), found)

"""DAGs that networkx holds."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnarl.sw.workloads.dag.builder import check
from gnarl.sw.workloads.dag.dag import Dag, Op
from gnarl.sw.workloads.dag.graph import from_networkx
from tests.support.dpu.dags import (
    dags,
    evaluate,
    evaluate_modulo,
    input_values,
    results,
    seeded_dag,
)
from tests.support.dpu.numbered_edges import NUMBERED, difference
from tests.support.errors import refused


def binary(op: Any, **attributes: Any) -> nx.DiGraph:
    """``r`` computes ``op`` of inputs ``a`` = 5 and ``b`` = 3."""
    graph = nx.DiGraph()
    graph.add_node("a", op="input", value=5)
    graph.add_node("b", op="input", value=3.0)
    graph.add_node("r", op=op, **attributes)
    graph.add_edge("a", "r")
    graph.add_edge("b", "r")
    return graph


def graph_of(dag: Dag, values: np.ndarray) -> nx.MultiDiGraph:
    """A DAG as a graph with attributes; an ADD that subtracts only after its first operand is sub,
    any other becomes sums and a sub."""
    graph = nx.MultiDiGraph()
    by_node = dict(zip(dag.inputs.tolist(), values.tolist(), strict=True))
    outputs = set(dag.outputs.tolist())

    def add(name: str, op: str, operands: list[str], output: bool = False) -> None:
        graph.add_node(name, op=op, output=output)
        for rank, operand in reversed(list(enumerate(operands))):
            graph.add_edge(operand, name, operand=rank)

    for node in range(dag.size):
        edges = slice(dag.offsets[node], dag.offsets[node + 1])
        operands = [dag.name(operand) for operand in dag.operands[edges].tolist()]
        negative = dag.negative[edges]
        name, op = dag.name(node), Op(dag.op[node])
        if op == Op.INPUT:
            graph.add_node(name, op="input", value=by_node[node], output=node in outputs)
        elif op == Op.CONST:
            graph.add_node(name, op="const", value=float(dag.constants[node]))
            graph.nodes[name]["output"] = node in outputs
        elif negative.any():
            plus = [operand for operand, flag in zip(operands, negative, strict=True) if not flag]
            minus = [operand for operand, flag in zip(operands, negative, strict=True) if flag]
            add(f"{name}+", "sum", plus)
            add(name, "sub", [f"{name}+", *minus], node in outputs)
        else:
            add(name, op.name, operands, node in outputs)
    return graph


@pytest.mark.parametrize(
    ("op", "result"),
    [
        *((op, 8.0) for op in ("add", "sum", "+", "ADD", " Sum ")),
        *((op, 15.0) for op in ("mul", "prod", "product", "*")),
        *((op, 2.0) for op in ("sub", "subtract", "-")),
        *((op, 5.0) for op in ("max", "maximum")),
        *((op, 3.0) for op in ("min", "minimum")),
    ],
)
def test_operations_and_their_aliases(op: str, result: float) -> None:
    workload = from_networkx(binary(op), "w")
    assert workload.name == "w"
    assert workload.input_names.tolist() == ["a", "b"]
    assert workload.output_names.tolist() == ["r"]
    assert workload.inputs.tolist() == [5.0, 3.0]
    assert evaluate(workload.dag, workload.inputs).tolist() == [result]


@pytest.mark.parametrize("order", ["operand", "index"])
def test_numbered_operands_come_in_their_order(order: str) -> None:
    graph = binary("sub")
    graph.edges["a", "r"][order] = 10
    graph.edges["b", "r"][order] = -1
    workload = from_networkx(graph)
    assert evaluate(workload.dag, workload.inputs).tolist() == [-2.0]


def test_operands_without_numbers_come_as_they_were_added() -> None:
    graph = nx.DiGraph()
    for name, value in (("a", 5), ("b", 3), ("c", 1)):
        graph.add_node(name, op="input", value=value)
    graph.add_node("r", op="sub")
    for name in "bca":
        graph.add_edge(name, "r")
    workload = from_networkx(graph)
    assert evaluate(workload.dag, workload.inputs).tolist() == [3.0 - 1.0 - 5.0]
    assert workload.dag.negative.tolist() == [False, True, True]


def test_parallel_edges_are_repeated_operands() -> None:
    graph = nx.MultiDiGraph(binary("add"))
    graph.add_edge("a", "r")
    graph.add_edge("a", "r")
    workload = from_networkx(graph)
    assert evaluate(workload.dag, workload.inputs).tolist() == [18.0]
    assert workload.dag.operations == 3


def test_parallel_edges_with_numbers() -> None:
    graph = nx.MultiDiGraph()
    graph.add_node("a", op="input", value=5)
    graph.add_node("b", op="input", value=3)
    graph.add_node("r", op="sub")
    for rank, name in enumerate("bab"):
        graph.add_edge(name, "r", operand=rank)
    workload = from_networkx(graph)
    assert workload.dag.operands.tolist() == [1, 0, 1]
    assert evaluate(workload.dag, workload.inputs).tolist() == [-5.0]


def test_negation_is_minus_zero_less_the_operand() -> None:
    graph = nx.DiGraph()
    graph.add_node("-0", op="input", value=4.0)
    graph.add_node("m", op="neg")
    graph.add_node("k", op="negate")
    graph.add_edges_from([("-0", "m"), ("m", "k")])
    workload = from_networkx(graph)
    check(workload.dag)
    graph.nodes["m"]["output"] = True
    both = from_networkx(graph)
    assert both.output_names.tolist() == ["m", "k"]
    assert evaluate(both.dag, both.inputs).tolist() == [-4.0, 4.0]
    assert sorted(workload.dag.names.tolist()) == ["-0", "-0'", "k", "m"]


@pytest.mark.parametrize("value", [0.0, -0.0])
def test_negation_changes_the_sign_of_zeros(value: float) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", op="input", value=value)
    graph.add_node("m", op="neg")
    graph.add_edge("a", "m")
    workload = from_networkx(graph)
    (result,) = evaluate(workload.dag, workload.inputs)
    assert np.signbit(result) != np.signbit(value)


@pytest.mark.parametrize("op", ["add", "mul", "max", "min", "sub"])
def test_one_operand_passes_through(op: str) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", op="input", value=-4.0)
    graph.add_node("r", op=op)
    graph.add_edge("a", "r")
    workload = from_networkx(graph)
    assert evaluate(workload.dag, workload.inputs).tolist() == [-4.0]
    assert workload.dag.operations == 0


def test_a_single_input_is_a_workload() -> None:
    graph = nx.DiGraph()
    graph.add_node("x", op="input", value=2)
    workload = from_networkx(graph)
    assert workload.output_names.tolist() == ["x"]
    assert evaluate(workload.dag, workload.inputs).tolist() == [2.0]


def test_constants_are_part_of_the_structure() -> None:
    graph = binary("mul")
    graph.nodes["b"]["op"] = "constant"
    workload = from_networkx(graph)
    assert workload.input_names.tolist() == ["a"]
    assert evaluate(workload.dag, np.array([2.0])).tolist() == [6.0]


@pytest.mark.parametrize("flag", [True, 1, "true", "True", "1", np.True_])
def test_a_node_with_users_is_an_output_if_flagged(flag: Any) -> None:
    graph = binary("add")
    graph.nodes["b"]["output"] = flag
    assert from_networkx(graph).output_names.tolist() == ["b", "r"]


@pytest.mark.parametrize("flag", [False, 0, "false", "0"])
def test_a_sink_is_an_output_whatever_its_flag(flag: Any) -> None:
    assert from_networkx(binary("add", output=flag)).output_names.tolist() == ["r"]


def test_inputs_without_values_are_random_from_the_seed() -> None:
    graph = binary("add")
    for name in "ab":
        del graph.nodes[name]["value"]
    one, same, other = (from_networkx(graph, seed=seed).inputs for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert ((one >= 0.5) & (one < 1.5)).all()


def test_numbers_in_text_are_taken() -> None:
    graph = binary("max")
    graph.nodes["b"]["value"] = " 1e3 "
    assert from_networkx(graph).inputs[1] == 1000.0


def test_nodes_may_be_any_objects_in_any_order() -> None:
    graph = nx.DiGraph()
    graph.add_node((1, 2), op="add")
    graph.add_node(7, op="input", value=1.0)
    graph.add_node(None.__class__, op="const", value=2.0)
    graph.add_edge(7, (1, 2))
    graph.add_edge(None.__class__, (1, 2))
    workload = from_networkx(graph)
    assert workload.output_names.tolist() == ["(1, 2)"]
    assert evaluate(workload.dag, workload.inputs).tolist() == [3.0]


@given(dags(150), st.integers(0, 1000))
@example(seeded_dag(62, 495), 0)  # whose last output is a difference of products of 120 digits
def test_any_dag_survives_as_a_graph(dag: Dag, seed: int) -> None:
    values = input_values(dag, seed)
    workload = from_networkx(graph_of(dag, values))
    check(workload.dag)
    assert sorted(workload.output_names.tolist()) == sorted(dag.name(node) for node in dag.outputs)
    got = evaluate_modulo(workload.dag, workload.inputs)
    expected = evaluate_modulo(dag, values)
    assert dict(zip(workload.output_names.tolist(), got, strict=True)) == dict(
        zip((dag.name(node) for node in dag.outputs), expected, strict=True)
    )


def changed(**attributes: Any) -> nx.DiGraph:
    """``binary("add")`` with other attributes of ``r``; ``None`` takes one away."""
    graph = binary("add")
    for key, value in attributes.items():
        graph.nodes["r"][key] = value
        if value is None:
            del graph.nodes["r"][key]
    return graph


KNOWN = "input, const, add, mul, max, min, sub, neg"


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"op": "xor"}, f"node r: op = 'xor': must be one of {KNOWN}"),
        ({"op": 3}, f"node r: op = 3: must be one of {KNOWN}"),
        ({"op": None}, f"node r: 2 operands and no attribute op: must have one of {KNOWN}"),
        (
            {"op": "div"},
            "node r: op = 'div': division is not supported: make the reciprocal an input and "
            "multiply by it",
        ),
        (
            {"op": "/"},
            "node r: op = '/': division is not supported: make the reciprocal an input and "
            "multiply by it",
        ),
        ({"op": "neg"}, "node r: neg has 2 operands: must have one"),
        ({"op": "input"}, "node r: input has 2 operands: must have none"),
        ({"op": "const", "value": 1}, "node r: const has 2 operands: must have none"),
        ({"value": 1.0}, "node r: add has a value: only input and const may"),
        ({"value": "x"}, "node r: value = 'x': must be a number"),
        ({"output": "maybe"}, "node r: output = 'maybe': must be true or false"),
    ],
)
def test_operations_that_mean_nothing_are_refused(attributes: dict[str, Any], text: str) -> None:
    with refused(text):
        from_networkx(changed(**attributes))


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({}, "node x: no operands and no attribute op: must have one of input, const"),
        ({"op": "add"}, "node x: add has no operands: must have at least one"),
        ({"op": "const"}, "node x: const without a value: must have one"),
        ({"op": "const", "value": float("nan")}, "node x: value = nan: must be finite in float64"),
        ({"op": "input", "value": float("nan")}, "node x: value = nan: must be finite in float64"),
        ({"value": "-inf", "op": "input"}, "node x: value = '-inf': must be finite in float64"),
        (
            {"value": 10**400, "op": "input"},
            f"node x: value = 1{'0' * 39}…: must be finite in float64",
        ),
        ({"value": "1_0", "op": "input"}, "node x: value = '1_0': must be a number"),
        ({"op": "input", "value": True}, "node x: value = True: must be a number"),
        ({"op": "input", "value": [1]}, "node x: value = [1]: must be a number"),
    ],
)
def test_nodes_without_operands_that_mean_nothing_are_refused(
    attributes: dict[str, Any], text: str
) -> None:
    graph = binary("add")
    graph.add_node("x", **attributes)
    with refused(text):
        from_networkx(graph)


def test_a_cycle_is_refused_with_its_nodes_and_the_file() -> None:
    graph = binary("add")
    graph.add_node("s", op="mul")
    graph.add_edges_from([("r", "s"), ("s", "r")])
    with refused("g.gml: cycle: s -> r -> s"):
        from_networkx(graph, source="g.gml")


def test_an_undirected_graph_is_refused() -> None:
    with refused("the graph is undirected: edges must lead from operand to user"):
        from_networkx(nx.Graph(binary("add")))


def test_an_empty_graph_is_refused() -> None:
    with refused("g.gml: the DAG has no nodes: it must have at least one"):
        from_networkx(nx.DiGraph(), source="g.gml")


def test_an_input_without_a_value_among_others_is_refused() -> None:
    graph = binary("add")
    del graph.nodes["b"]["value"]
    with refused("g.gml: node b: input without a value: must have one, as others have"):
        from_networkx(graph, source="g.gml")


def test_nodes_that_look_alike_are_refused() -> None:
    graph = nx.DiGraph()
    graph.add_node(1, op="input")
    graph.add_node("1", op="input")
    with refused("'1' names two nodes: names must differ"):
        from_networkx(graph)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ({"a": 0}, "node r: 1 of 2 operands are numbered: must be all or none"),
        ({"a": 1, "b": 1}, "node r: two operands have the same number: numbers must differ"),
        ({"a": "first", "b": 1}, "node r: operand = 'first': must be a number"),
    ],
)
def test_operand_numbers_that_leave_the_order_open_are_refused(
    numbers: dict[str, Any], text: str
) -> None:
    graph = binary("sub")
    for name, number in numbers.items():
        graph.edges[name, "r"]["operand"] = number
    with refused(text):
        from_networkx(graph)


@pytest.mark.parametrize("text", ["1e-400", " -2e-324\n", "0.001E-330"])
def test_texts_of_numbers_that_float64_makes_0_are_refused(text: str) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", op="input", value=text)
    with refused(
        f"node a: value = {text!r}: must be 0, or at least 5e-324, the smallest number of float64"
    ):
        from_networkx(graph)
    graph.nodes["a"]["value"] = "0e-400"
    assert from_networkx(graph).inputs.tolist() == [0.0]


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        *NUMBERED,
        (
            {"index": 0, "operand": None},
            {"operand": 1},
            "edge from b: has operand alone, others do not: edges into a node must be numbered by "
            "one attribute",
        ),
        ({"operand": 1, "index": "1"}, {"index": 0}, ""),
    ],
)
def test_operand_and_index_of_edges_must_agree(
    first: dict[str, Any], second: dict[str, Any], text: str
) -> None:
    graph = difference(first, second)
    if not text:
        assert results(from_networkx(graph)) == {"d": -2.0}
        return
    with refused(f"node d: {text}"):
        from_networkx(graph)

"""Building, numbering and checking DAGs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.workloads.dag.builder import DagBuilder, check
from gnarl.sw.workloads.dag.dag import Dag, Op
from tests.support.dpu.dags import SHAPES, dags, evaluate, input_values, shape
from tests.support.errors import refused


def product_of_two() -> Dag:
    builder = DagBuilder()
    builder.operation(Op.MUL, [builder.input("a"), builder.input("b")], name="p")
    return builder.build()[0]


def test_a_single_input_is_a_dag_and_its_own_output() -> None:
    builder = DagBuilder()
    builder.input("x")
    dag, number = builder.build()
    assert dag.size == 1
    assert dag.outputs.tolist() == [0]
    assert dag.name(0) == "x"
    assert number.tolist() == [0]


def test_arrays_have_the_types_that_dag_promises() -> None:
    dag = product_of_two()
    assert dag.op.dtype == np.uint8
    assert dag.offsets.dtype == np.int64
    assert dag.operands.dtype == np.int32
    assert dag.negative.dtype == bool
    assert dag.constants.dtype == np.float64
    assert dag.outputs.dtype == np.int64
    assert dag.offsets.tolist() == [0, 0, 0, 2]
    assert dag.operands.tolist() == [0, 1]


def test_nodes_in_order_keep_their_numbers() -> None:
    builder = DagBuilder()
    b = builder.input("b")
    c = builder.constant(2.0, "c")
    a = builder.input("a")
    builder.operation(Op.ADD, [a, b, c], [False, True, False], "s")
    dag, number = builder.build()
    assert number.tolist() == [0, 1, 2, 3]
    assert dag.names.tolist() == ["b", "c", "a", "s"]
    assert dag.constants.tolist() == [0, 2.0, 0, 0]
    assert dag.operands.tolist() == [2, 0, 1]
    assert dag.negative.tolist() == [False, True, False]


def test_users_before_operands_are_renumbered() -> None:
    builder = DagBuilder()
    builder.operation(Op.ADD, [1, 2], [False, True], "root")
    builder.operation(Op.MUL, [3, 3], name="square")
    builder.constant(7.0, "c")
    builder.input("x")
    dag, number = builder.build()
    assert dag.names.tolist() == ["x", "square", "c", "root"]
    assert number.tolist() == [3, 1, 2, 0]
    assert evaluate(dag, np.array([3.0])).tolist() == [2.0]


def test_bulk_and_single_give_the_same_dag() -> None:
    single = DagBuilder()
    for name in "ab":
        single.input(name)
    single.operation(Op.MUL, [0, 1], name="p")
    single.operation(Op.ADD, [2, 0, 2], [False, True, False], "s")
    bulk = DagBuilder()
    assert bulk.inputs(["a", "b"]).tolist() == [0, 1]
    numbers = bulk.operations(
        np.array([Op.MUL, Op.ADD]),
        np.array([2, 3]),
        np.array([0, 1, 2, 0, 2]),
        np.array([0, 0, 0, 1, 0], bool),
        ["p", "s"],
    )
    assert numbers.tolist() == [2, 3]
    one, two = single.build()[0], bulk.build()[0]
    for field in ("op", "offsets", "operands", "negative", "constants", "outputs", "names"):
        assert np.array_equal(getattr(one, field), getattr(two, field)), field


def test_outputs_are_those_asked_for_in_their_order_then_all_other_sinks() -> None:
    builder = DagBuilder()
    a, b = builder.input("a"), builder.input("b")
    p = builder.operation(Op.MUL, [a, b], name="p")
    builder.operation(Op.ADD, [p, a], name="s")
    builder.operation(Op.MAX, [p, b], name="m")
    builder.output(4)
    builder.output(a)
    builder.output(4)
    dag, _ = builder.build()
    assert [dag.name(node) for node in dag.outputs] == ["m", "a", "s"]


def test_unnamed_nodes_have_default_names() -> None:
    builder = DagBuilder()
    builder.operation(Op.ADD, [builder.input(), builder.input()])
    dag, _ = builder.build()
    assert dag.names is None
    assert dag.name(2) == "n2"


def test_reassociation_is_allowed_unless_forbidden() -> None:
    builder = DagBuilder()
    builder.input()
    assert builder.build()[0].reassociate
    assert not builder.build(reassociate=False)[0].reassociate


def test_operations_counts_two_operand_operations() -> None:
    assert shape("star").operations == 299
    assert shape("one_input").operations == 0
    assert shape("chain_of_unary").operations == 0


@pytest.mark.parametrize("name", SHAPES)
def test_every_odd_shape_is_sound(name: str) -> None:
    check(shape(name))


@given(dags(300), st.integers(0, 1000))
def test_any_order_of_nodes_gives_the_same_values(dag: Dag, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(dag.size)
    place = np.argsort(order)
    builder = DagBuilder()
    for node in order.tolist():
        edges = slice(dag.offsets[node], dag.offsets[node + 1])
        if dag.op[node] == Op.CONST:
            builder.constant(dag.constants[node], dag.name(node))
            continue
        operands = place[dag.operands[edges]].tolist()
        builder.operation(Op(dag.op[node]), operands, dag.negative[edges], dag.name(node))
    for node in dag.outputs.tolist():
        builder.output(place[node])
    shuffled, number = builder.build()
    check(shuffled)
    values = dict(zip(dag.inputs.tolist(), input_values(dag, seed).tolist(), strict=True))
    inputs = np.array([values[int(shuffled.names[node][1:])] for node in shuffled.inputs])
    with np.errstate(all="ignore"):
        expected = evaluate(dag, np.array(list(values.values())))
        assert np.array_equal(evaluate(shuffled, inputs), expected, equal_nan=True)
    assert [shuffled.name(number[at]) for at in range(dag.size)] == [
        dag.name(node) for node in order
    ]


def test_a_long_chain_in_the_wrong_order_is_numbered() -> None:
    builder = DagBuilder()
    length = 200_000
    counts = np.ones(length, np.int64)
    builder.operations(np.full(length, Op.ADD), counts, np.arange(1, length + 1))
    builder.input()
    dag, number = builder.build()
    assert number[0] == length
    assert dag.operands.tolist() == list(range(length))


# What build refuses.


def test_a_cycle_is_refused_with_its_nodes() -> None:
    builder = DagBuilder("model.gml")
    builder.input("x")
    builder.operation(Op.ADD, [3, 0], name="a")
    builder.operation(Op.ADD, [1, 0], name="b")
    builder.operation(Op.MUL, [2, 0], name="c")
    builder.operation(Op.MUL, [3, 0], name="innocent")
    with refused("model.gml: cycle: b -> c -> a -> b"):
        builder.build()


def test_a_node_that_is_its_own_operand_is_a_cycle() -> None:
    builder = DagBuilder()
    builder.operation(Op.ADD, [0], name="a")
    with refused("cycle: a -> a"):
        builder.build()


def test_a_long_cycle_is_shortened() -> None:
    builder = DagBuilder()
    for node in range(1000):
        builder.operation(Op.ADD, [(node - 1) % 1000])
    with refused("cycle: n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 -> n8 -> (992 more) -> n1"):
        builder.build()


def test_an_operand_that_is_no_node_is_refused() -> None:
    builder = DagBuilder("f")
    builder.operation(Op.ADD, [builder.input("x"), 7], name="a")
    with refused("f: node a: operand 7 is out of range: nodes are 0 to 1"):
        builder.build()


def test_an_output_that_is_no_node_is_refused() -> None:
    builder = DagBuilder()
    builder.input("x")
    builder.output(1)
    with refused("output 1 is out of range: nodes are 0 to 0"):
        builder.build()


def test_an_empty_dag_is_refused() -> None:
    with refused("f: the DAG has no nodes: it must have at least one"):
        DagBuilder("f").build()


def test_a_node_without_operands_is_refused() -> None:
    builder = DagBuilder()
    builder.operation(Op.MIN, [], name="m")
    with refused("node m: MIN has no operands: only INPUT and CONST have none"):
        builder.build()


def test_an_input_with_operands_is_refused() -> None:
    builder = DagBuilder()
    builder.operation(Op.INPUT, [builder.input("x")], name="y")
    with refused("node y: INPUT has 1 operands: it must have none"):
        builder.build()


def test_two_nodes_of_one_name_are_refused() -> None:
    builder = DagBuilder()
    builder.input("x")
    builder.input("x")
    with refused("'x' names two nodes: names must differ"):
        builder.build()


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_constant_that_is_not_finite_is_refused(value: str) -> None:
    builder = DagBuilder()
    builder.constant(float(value), "c")
    with refused(f"node c: the constant is {value}: must be finite in float64"):
        builder.build()


def test_a_negative_operand_of_a_product_is_refused() -> None:
    builder = DagBuilder()
    builder.operation(Op.MUL, [builder.input(), builder.input()], [False, True], "p")
    with refused("node p: MUL has a negative operand: only an ADD may"):
        builder.build()


def test_a_sum_of_only_negative_operands_is_refused() -> None:
    builder = DagBuilder()
    builder.operation(Op.ADD, [builder.input(), builder.input()], [True, True], "s")
    with refused("node s: every operand is negative: at least one must not be"):
        builder.build()


# What check refuses besides.


def test_an_unknown_operation_is_refused() -> None:
    dag = replace(product_of_two(), op=np.array([0, 0, 9], np.uint8))
    text = "node p: operation 9 is unknown; there are 0 to 5: INPUT, CONST, ADD, MUL, MAX, MIN"
    with refused(f"f: {text}"):
        check(dag, "f")


def test_an_operand_after_its_user_is_refused() -> None:
    dag = replace(product_of_two(), operands=np.array([0, 2], np.int32))
    with refused("node p: operand p does not come before it"):
        check(dag)


def test_an_operand_outside_is_refused() -> None:
    dag = replace(product_of_two(), operands=np.array([-1, 0], np.int32))
    with refused("node p: operand -1 is out of range: nodes are 0 to 2"):
        check(dag)


def test_a_value_on_a_node_that_is_no_constant_is_refused() -> None:
    dag = replace(product_of_two(), constants=np.array([0, 1.5, 0]))
    with refused("node b: INPUT has a constant's value: only CONST may"):
        check(dag)


def test_a_dag_without_outputs_is_refused() -> None:
    dag = replace(product_of_two(), outputs=np.zeros(0, np.int64))
    with refused("the DAG has no outputs: it must have at least one"):
        check(dag)


def test_an_output_named_twice_is_refused() -> None:
    dag = replace(product_of_two(), outputs=np.array([2, 1, 2]))
    with refused("node p: is a duplicate output"):
        check(dag)


def test_an_output_outside_is_refused() -> None:
    dag = replace(product_of_two(), outputs=np.array([2, 3]))
    with refused("output 3 is out of range: nodes are 0 to 2"):
        check(dag)


@pytest.mark.parametrize("offsets", [[0, 0, 2], [0, 0, 0, 1], [0, 2, 0, 2], [1, 1, 1, 2]])
def test_offsets_that_do_not_fit_are_refused(offsets: list[int]) -> None:
    dag = replace(product_of_two(), offsets=np.array(offsets))
    with refused("offsets must be 4 numbers that rise from 0 to 2, the number of operands"):
        check(dag)


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("negative", np.zeros(1, bool), "negative has 1 entries: it must have 2"),
        ("constants", np.zeros(4), "constants has 4 entries: it must have 3"),
        ("names", np.array(["a"], np.dtypes.StringDType()), "names has 1 entries: it must have 3"),
    ],
)
def test_arrays_of_another_length_are_refused(field: str, value: object, text: str) -> None:
    with refused(text):
        check(replace(product_of_two(), **{field: value}))

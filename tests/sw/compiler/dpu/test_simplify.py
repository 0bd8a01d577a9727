"""The same values at the outputs, in fewer and wider nodes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.compiler.dpu.simplify import needed_nodes, simplify, use_counts
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag, Op
from tests.support.dpu.dags import SHAPES, dags, shape
from tests.sw.compiler.dpu.test_binarise import PRIME, meaning_of_dag


def leaves(dag: Dag, seed: int) -> list[int]:
    """Exact values of inputs and constants; equal constants get equal values."""
    random = np.random.default_rng(seed)
    values = random.integers(0, PRIME, len(dag.inputs)).tolist()
    for constant in dag.constants[dag.op == Op.CONST].tolist():
        values.append(int(np.float64(constant).view(np.int64)) % PRIME)
    return values


def nodes(dag: Dag) -> list[tuple[Op, list[tuple[int, bool]]]]:
    """Operations with operands and signs, in order."""
    listed = []
    for node in np.flatnonzero(dag.op > Op.CONST).tolist():
        edges = slice(dag.offsets[node], dag.offsets[node + 1])
        operands = zip(dag.operands[edges].tolist(), dag.negative[edges].tolist(), strict=True)
        listed.append((Op(dag.op[node]), list(operands)))
    return listed


def test_equal_products_in_any_order_become_one():
    b = DagBuilder()
    x, y, z = b.input(), b.input(), b.input()
    first, second = b.operation(Op.MUL, [x, y]), b.operation(Op.MUL, [y, x])
    b.operation(Op.ADD, [first, z])
    b.operation(Op.MAX, [second, z])
    simple = simplify(b.build()[0])
    assert nodes(simple) == [
        (Op.MUL, [(0, False), (1, False)]),
        (Op.ADD, [(2, False), (3, False)]),
        (Op.MAX, [(2, False), (3, False)]),
    ]


def test_a_difference_is_not_its_reverse():
    b = DagBuilder()
    x, y = b.input(), b.input()
    b.operation(Op.ADD, [x, y], [False, True])
    b.operation(Op.ADD, [y, x], [False, True])
    assert len(nodes(simplify(b.build()[0]))) == 2


def test_a_subtracted_sum_is_flattened_with_its_signs():
    b = DagBuilder()
    x, y, z = b.input(), b.input(), b.input()
    b.operation(Op.ADD, [x, b.operation(Op.ADD, [y, z], [False, True])], [False, True])
    assert nodes(simplify(b.build()[0])) == [(Op.ADD, [(0, False), (1, True), (2, False)])]


def test_a_sum_that_is_used_twice_stays():
    b = DagBuilder()
    x, y = b.input(), b.input()
    inner = b.operation(Op.ADD, [x, y])
    b.operation(Op.ADD, [inner, x])
    b.operation(Op.ADD, [inner, y])
    assert len(nodes(simplify(b.build()[0]))) == 3


def test_zeros_of_different_signs_stay_apart():
    b = DagBuilder()
    x = b.input()
    b.operation(Op.ADD, [x, b.constant(0.0)])
    b.operation(Op.ADD, [x, b.constant(-0.0)])
    assert len(nodes(simplify(b.build()[0]))) == 2


def test_equal_outputs_name_one_node():
    b = DagBuilder()
    x, y = b.input(), b.input()
    b.operation(Op.ADD, [x, y])
    b.operation(Op.ADD, [y, x])
    simple = simplify(b.build()[0])
    assert simple.outputs.tolist() == [2, 2]


def test_forbidden_reassociation_keeps_order_and_nesting():
    b = DagBuilder()
    x, y, z = b.input(), b.input(), b.input()
    b.operation(Op.MUL, [b.operation(Op.MUL, [y, x]), z])
    b.operation(Op.MUL, [x, y])
    dag = dataclasses.replace(b.build()[0], reassociate=False)
    assert nodes(simplify(dag)) == nodes(dag)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("reassociate", [True, False])
def test_shapes_mean_the_same(name: str, reassociate: bool):
    dag = dataclasses.replace(shape(name), reassociate=reassociate)
    simple = simplify(dag)
    assert meaning_of_dag(simple, leaves(dag, 1)) == meaning_of_dag(dag, leaves(dag, 1))


@settings(deadline=None, max_examples=75)
@given(dags(), st.booleans(), st.integers(0, 2**32 - 1))
def test_random_dags_mean_the_same_in_no_more_operations(dag: Dag, reassociate: bool, seed: int):
    dag = dataclasses.replace(dag, reassociate=reassociate)
    simple = simplify(dag)
    assert meaning_of_dag(simple, leaves(dag, seed)) == meaning_of_dag(dag, leaves(dag, seed))
    assert simple.operations <= dag.operations
    assert len(simple.inputs) == len(dag.inputs)


def test_only_needed_nodes_use_their_operands():
    offsets, operands = np.array([0, 0, 2, 3]), np.array([0, 0, 0])
    outputs = np.array([2])
    needed = needed_nodes(offsets, operands, outputs)
    assert needed.tolist() == [True, False, True]
    assert use_counts(offsets, operands, outputs, needed).tolist() == [1, 0, 2]

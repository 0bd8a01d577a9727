"""Two-operand operations that mean what the nodes meant, in trees that fit and wait for no one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import PeOp
from gnarl.sw.compiler.dpu.binarise import BinaryDag, binarise
from gnarl.sw.compiler.dpu.check import check_binary
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag, Op
from tests.support.dpu.dags import SHAPES, dags, shape
from tests.sw.compiler.dpu.passes import built

PRIME = 2**61 - 1
"""Exact arithmetic whatever the depth: whole numbers modulo a prime, ordered by their remainder.
Adding, multiplying, MAX and MIN of these are associative and commutative, and nothing rounds."""

COMPUTE: dict[int, Callable[[int, int], int]] = {
    PeOp.ADD: lambda a, b: (a + b) % PRIME,
    PeOp.SUB: lambda a, b: (a - b) % PRIME,
    PeOp.MUL: lambda a, b: a * b % PRIME,
    PeOp.MAX: max,
    PeOp.MIN: min,
}

PE_OP = {Op.ADD: PeOp.ADD, Op.MUL: PeOp.MUL, Op.MAX: PeOp.MAX, Op.MIN: PeOp.MIN}

machines = st.builds(
    DpuConfig, depth=st.integers(1, 4), banks=st.just(16), pe_stages=st.sampled_from([1, 3])
)


def meaning_of_dag(dag: Dag, leaves: list[int]) -> list[int]:
    """Values of the outputs; ``leaves`` are those of the inputs and then the constants."""
    values = [0] * dag.size
    order = [*np.flatnonzero(dag.op == Op.INPUT), *np.flatnonzero(dag.op == Op.CONST)]
    for node, value in zip(order, leaves, strict=True):
        values[node] = value
    for node in np.flatnonzero(dag.op > Op.CONST).tolist():
        edges = slice(dag.offsets[node], dag.offsets[node + 1])
        signs = dag.negative[edges].tolist()
        operands = [values[operand] for operand in dag.operands[edges].tolist()]
        total, *rest = [-v % PRIME if s else v for v, s in zip(operands, signs, strict=True)]
        for operand in rest:
            total = COMPUTE[PE_OP[Op(dag.op[node])]](total, operand)
        values[node] = total
    return [values[node] for node in dag.outputs.tolist()]


def meaning_of_binary(binary: BinaryDag, leaves: list[int]) -> list[int]:
    values = list(leaves)
    triples = zip(binary.op.tolist(), binary.left.tolist(), binary.right.tolist(), strict=True)
    for op, left, right in triples:
        values.append(COMPUTE[op](values[left], values[right]))
    return [values[value] for value in binary.outputs.tolist()]


def random_leaves(dag: Dag, seed: int) -> list[int]:
    count = int((dag.op <= Op.CONST).sum())
    return np.random.default_rng(seed).integers(1, PRIME, count).tolist()


def spelt(binary: BinaryDag, names: str) -> list[str]:
    """The outputs as text, with leaves called by the letters of ``names``."""
    sign = {PeOp.ADD: "+", PeOp.SUB: "-", PeOp.MUL: "*", PeOp.MAX: "^", PeOp.MIN: "_"}
    texts = list(names)
    for op, left, right in zip(binary.op.tolist(), binary.left, binary.right, strict=True):
        texts.append(f"({texts[left]}{sign[PeOp(op)]}{texts[right]})")
    return [texts[value] for value in binary.outputs.tolist()]


def group_sizes(binary: BinaryDag) -> list[int]:
    return sorted(np.unique(binary.group, return_counts=True)[1].tolist())


def late_operand(builder: DagBuilder, products: int) -> None:
    """a + b + c + d, where d is a chain of so many products of e."""
    a, b, c, e = (builder.input() for _ in range(4))
    d = e
    for _ in range(products):
        d = builder.operation(Op.MUL, [d, e])
    builder.operation(Op.ADD, [d, a, b, c])


@settings(max_examples=75, deadline=None)
@given(dags(), machines, st.sampled_from([0.0, 1.0, np.inf]), st.integers(0, 2**32 - 1))
def test_it_means_the_same(dag: Dag, config: DpuConfig, threshold: float, seed: int):
    leaves = random_leaves(dag, seed)
    binary = binarise(dag, config, split_threshold=threshold)
    assert meaning_of_binary(binary, leaves) == meaning_of_dag(dag, leaves)


@settings(max_examples=75, deadline=None)
@given(dags(), machines, st.sampled_from([0.0, 1.0, np.inf]))
def test_groups_are_trees_no_deeper_than_the_pes(dag: Dag, config: DpuConfig, threshold: float):
    binary = binarise(dag, config, split_threshold=threshold)
    check_binary(binary, config)
    # Below its root, every result of a group goes to one operation, of the same group.
    values = np.concatenate([binary.left, binary.right, binary.outputs])
    uses = np.bincount(values, minlength=binary.leaves + binary.operations)[binary.leaves :]
    inner = np.flatnonzero(binary.group != np.arange(binary.operations))
    assert (uses[inner] == 1).all()
    user = np.zeros(binary.operations, np.int64)
    for side in (binary.left, binary.right):
        computed = side >= binary.leaves
        user[side[computed] - binary.leaves] = np.flatnonzero(computed)
    assert (binary.group[user[inner]] == binary.group[inner]).all()


@settings(max_examples=50, deadline=None)
@given(dags(), machines)
def test_every_operand_but_one_is_one_operation(dag: Dag, config: DpuConfig):
    binary = binarise(dag, config)
    assert binary.operations == dag.operations
    assert binary.leaves == (dag.op <= Op.CONST).sum()
    used = np.concatenate([binary.left, binary.right, binary.outputs])
    assert set(range(binary.leaves, binary.leaves + binary.operations)) <= set(used.tolist())


@settings(max_examples=75, deadline=None)
@given(dags(), machines)
def test_without_reassociation_operands_go_from_left_to_right(dag: Dag, config: DpuConfig):
    dag = dataclasses.replace(dag, reassociate=False)
    binary = binarise(dag, config)
    check_binary(binary, config)
    # Every expression gets a number, the same one in both, so that equal numbers are equal trees.
    numbers: dict[tuple[int, int, int], int] = {}

    def number(op: int, left: int, right: int) -> int:
        return numbers.setdefault((op, left, right), binary.leaves + len(numbers))

    values = list(range(binary.leaves))
    for op, left, right in zip(binary.op.tolist(), binary.left, binary.right, strict=True):
        values.append(number(op, values[left], values[right]))
    known = len(numbers)
    nodes = [0] * dag.size
    leaves = [*np.flatnonzero(dag.op == Op.INPUT), *np.flatnonzero(dag.op == Op.CONST)]
    for value, node in enumerate(leaves):
        nodes[node] = value
    for node in np.flatnonzero(dag.op > Op.CONST).tolist():
        first, last = dag.offsets[node], dag.offsets[node + 1]
        total, negative = nodes[dag.operands[first]], bool(dag.negative[first])
        for edge in range(first + 1, last):
            operand, minus = nodes[dag.operands[edge]], bool(dag.negative[edge])
            if negative and not minus:
                total, negative = number(PeOp.SUB, operand, total), False
            elif minus and not negative:
                total = number(PeOp.SUB, total, operand)
            else:
                total = number(PE_OP[Op(dag.op[node])], total, operand)
        nodes[node] = total
    assert len(numbers) == known
    assert [values[v] for v in binary.outputs.tolist()] == [nodes[n] for n in dag.outputs.tolist()]


@pytest.mark.parametrize("name", SHAPES)
def test_odd_shapes_without_reassociation(name: str):
    dag = dataclasses.replace(shape(name), reassociate=False)
    config = DpuConfig(depth=3, banks=8)
    binary = binarise(dag, config)
    check_binary(binary, config)
    leaves = random_leaves(dag, 1)
    assert meaning_of_binary(binary, leaves) == meaning_of_dag(dag, leaves)


@pytest.mark.parametrize(
    ("depth", "others"), [(1, "(c+(a+b))"), (2, "((a+b)+c)"), (3, "((a+b)+c)"), (4, "((a+b)+c)")]
)
def test_the_latest_operand_enters_last(depth: int, others: str):
    dag = built(lambda builder: late_operand(builder, 20))
    binary = binarise(dag, DpuConfig(depth=depth, banks=16))
    assert spelt(binary, "abce") == [f"({others}+{'(' * 20}e{'*e)' * 20})"]


def test_operands_that_arrive_together_make_a_balanced_tree():
    dag = built(lambda builder: builder.operation(Op.ADD, [builder.input() for _ in range(8)]))
    binary = binarise(dag, DpuConfig(depth=3, banks=8))
    assert spelt(binary, "abcdefgh") == ["(((a+b)+(c+d))+((e+f)+(g+h)))"]
    assert group_sizes(binary) == [7]


def test_more_operands_than_a_tree_takes_make_several_groups():
    dag = built(lambda builder: builder.operation(Op.MAX, [builder.input() for _ in range(17)]))
    binary = binarise(dag, DpuConfig(depth=2, banks=8))
    assert binary.operations == 16
    assert max(group_sizes(binary)) == 3


def test_the_split_threshold_decides_whether_the_last_operand_enters_alone():
    # d comes while a + b + c are combined: alone in its tree the sum ends a little sooner.
    dag = built(lambda builder: late_operand(builder, 2))
    config = DpuConfig(depth=2, banks=8)
    assert group_sizes(binarise(dag, config, split_threshold=np.inf)) == [2, 3]
    assert group_sizes(binarise(dag, config, split_threshold=0.0)) == [1, 2, 2]


def test_a_node_that_only_another_uses_is_combined_in_its_users_tree():
    def build(builder: DagBuilder) -> None:
        a, b, c, d = (builder.input() for _ in range(4))
        products = [builder.operation(Op.MUL, pair) for pair in ([a, b], [c, d])]
        builder.operation(Op.ADD, products)

    assert group_sizes(binarise(built(build), DpuConfig(depth=2, banks=8))) == [3]
    assert group_sizes(binarise(built(build), DpuConfig(depth=1, banks=8))) == [1, 1, 1]


@pytest.mark.parametrize("also_output", [False, True])
def test_a_node_that_others_see_through_one_of_one_operand_ends_its_group(also_output: bool):
    def build(builder: DagBuilder) -> None:
        a, b = builder.input(), builder.input()
        same = builder.operation(Op.MAX, [builder.operation(Op.MUL, [a, b])])
        if also_output:
            builder.output(same)
        else:
            builder.operation(Op.ADD, [same, a])
        builder.operation(Op.ADD, [same, b])

    binary = binarise(built(build), DpuConfig(depth=2, banks=8))
    assert max(group_sizes(binary)) == 1


def test_signs_become_subtractions():
    def build(builder: DagBuilder) -> None:
        a, b, c, d = (builder.input() for _ in range(4))
        for signs in ([1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 0]):
            builder.operation(Op.ADD, [a, b, c, d], [bool(sign) for sign in signs])

    binary = binarise(built(build, reassociate=False), DpuConfig(depth=3, banks=8))
    assert spelt(binary, "abcd") == [
        "(((b-a)+c)+d)",
        "((c-(a+b))+d)",
        "(((a+b)-c)-d)",
        "(d-((a+b)+c))",
    ]


def test_nodes_that_no_output_needs_are_left_out():
    dag = built(lambda builder: late_operand(builder, 3))
    dag = dataclasses.replace(dag, outputs=np.array([5]))
    binary = binarise(dag, DpuConfig())
    assert spelt(binary, "abce") == ["((e*e)*e)"]
    assert binary.value_of.tolist() == [0, 1, 2, 3, 4, 5, -1, -1]


@pytest.mark.parametrize(
    ("name", "outputs"), [("one_input", [0]), ("one_constant", [0]), ("unary_of_an_input", [0])]
)
def test_without_operations_outputs_are_leaves(name: str, outputs: list[int]):
    binary = binarise(shape(name), DpuConfig())
    assert (binary.operations, binary.outputs.tolist()) == (0, outputs)

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.dpu.isa import PeOp
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.dpu import evaluate, reference
from gnarl.sw.golden.words import to_words
from gnarl.sw.workloads.dag.dag import Dag, Op
from tests.support.dpu.dags import dags
from tests.support.dpu.dags import evaluate as evaluate_node_by_node

FORMATS = ["float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3", "fixed16.8"]


def tree(*operations: tuple[PeOp, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    op, left, right = zip(*operations, strict=True) if operations else ((), (), ())
    return np.array(op, np.uint8), np.array(left, np.int32), np.array(right, np.int32)


def test_operands_stand_in_their_order():
    leaves = to_words(np.array([5.0, 3.0]), "float32")
    operations = [(PeOp.SUB, 0, 1), (PeOp.SUB, 1, 0), (PeOp.MUL, 2, 3), (PeOp.MAX, 4, 3)]
    words = evaluate(*tree(*operations), leaves, "float32")
    assert words.dtype == np.uint32
    expected = to_words(np.array([5.0, 3.0, 2.0, -2.0, -4.0, -2.0]), "float32")
    assert words.tolist() == expected.tolist()


def test_sums_are_rounded_one_by_one():
    leaves = to_words(np.array([2.0**24, 1.0]), "float32")
    forward = evaluate(*tree((PeOp.ADD, 0, 1), (PeOp.ADD, 2, 1)), leaves, "float32")
    paired = evaluate(*tree((PeOp.ADD, 1, 1), (PeOp.ADD, 0, 2)), leaves, "float32")
    assert forward[-1] == to_words(np.array(2.0**24), "float32")
    assert paired[-1] == to_words(np.array(2.0**24 + 2), "float32")


def test_computed_nans_are_canonical_and_leaves_are_left_alone():
    leaves = np.array([0xFFC12345, 0x3F800000, 0x7F800000], np.uint32)
    operations = [(PeOp.ADD, 0, 1), (PeOp.MAX, 1, 0), (PeOp.SUB, 2, 2), (PeOp.MIN, 3, 1)]
    words = evaluate(*tree(*operations), leaves, "float32")
    assert words.tolist() == [*leaves.tolist(), *[0x7FC00000] * 4]


def test_without_operations_the_leaves_are_all():
    leaves = np.array([1, 2], np.uint32)
    assert evaluate(*tree(), leaves, "float32").tolist() == [1, 2]


@given(st.sampled_from(FORMATS), st.integers(1, 9), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_levels_give_what_one_operation_after_the_other_gives(
    name: str, leaf_count: int, count: int, seed: int
):
    rng = np.random.default_rng(seed)
    op = rng.integers(PeOp.ADD, PeOp.MIN, count, endpoint=True).astype(np.uint8)
    left, right = (rng.integers(0, leaf_count + np.arange(count), count) for _ in range(2))
    leaves = to_words(rng.normal(size=leaf_count), name)
    unit = arithmetic(name)
    words = leaves.tolist()
    for step in range(count):
        operands = np.array([words[left[step]], words[right[step]]], np.uint32)
        numbers = unit.numbers(operands)
        words.extend(unit.words(unit.apply(int(op[step]), numbers[:1], numbers[1:])).tolist())
    assert evaluate(op, left, right, leaves, name).tolist() == words


def test_the_reference_of_every_operation():
    # 0 a, 1 b, 2 constant 3, then a - b + a, a * b * 3, max(a, b, 3), min(b, a), -(…): 6 - 5.
    dag = Dag(
        op=np.array([0, 0, 1, Op.ADD, Op.MUL, Op.MAX, Op.MIN, Op.ADD], np.uint8),
        offsets=np.array([0, 0, 0, 0, 3, 6, 9, 11, 13]),
        operands=np.array([0, 1, 0, 0, 1, 2, 0, 1, 2, 1, 0, 5, 6], np.int32),
        negative=np.array([0, 1, *[0] * 9, 1, 0], bool),
        constants=np.array([0, 0, 3.0, 0, 0, 0, 0, 0]),
        outputs=np.array([7]),
    )
    values = reference(dag, np.array([10.0, 4.0]))
    assert values.tolist() == [10, 4, 3, 16, 120, 10, 4, -6]


@given(dags(max_nodes=200), st.integers(0, 2**32 - 1))
def test_the_reference_agrees_with_going_node_by_node(dag: Dag, seed: int):
    # Whole numbers, so that no order of summing rounds.
    rng = np.random.default_rng(seed)
    constants = np.where(dag.op == Op.CONST, rng.integers(-2, 3, dag.size), 0).astype(float)
    dag = dataclasses.replace(dag, constants=constants, outputs=np.arange(dag.size))
    inputs = rng.integers(-2, 3, len(dag.inputs)).astype(float)
    with np.errstate(all="ignore"):
        expected = evaluate_node_by_node(dag, inputs)
    inexact = np.flatnonzero(~(np.abs(expected) < 2**53))
    count = inexact[0] if len(inexact) else dag.size
    assert reference(dag, inputs)[:count].tolist() == expected[:count].tolist()

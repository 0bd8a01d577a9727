"""Probabilistic circuits as DAGs."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.workloads.dag.builder import check
from gnarl.sw.workloads.dag.dag import Op
from gnarl.sw.workloads.dag.psdd import ProbabilisticCircuit, circuit, read_psdd
from gnarl.sw.workloads.dag.psdd_file import parse_psdd
from tests.support.dpu.dags import evaluate
from tests.support.errors import refused
from tests.support.workloads import workload_file

REAL = {
    # Two-operand operations, counted from the files: 3 n - 1 for a decision of n > 1, else 1.
    "tretail": 6461,
    "mnist": 5576,
    "msnbc": 34486,
    "msweb": 36803,
    "wilt": 569,
}


def of(text: str) -> ProbabilisticCircuit:
    return circuit(parse_psdd(text, "dir/small.psdd"), "dir/small.psdd")


def rain() -> ProbabilisticCircuit:
    """Variable 1 with probability 0.2; variable 2 with 0.9 if it is true, else with 0.3."""
    log = math.log
    return of(
        f"psdd 5\nL 0 0 1\nL 1 0 -1\nT 2 1 2 {log(0.9)}\nT 3 1 2 {log(0.3)}\n"
        f"D 4 2 2 0 2 {log(0.2)} 1 3 {log(0.8)}\n"
    )


def value(workload: ProbabilisticCircuit, evidence: dict[int, bool]) -> float:
    (result,) = evaluate(workload.dag, workload.bind(evidence))
    return float(result)


def test_names_lines_and_operations_of_a_small_circuit() -> None:
    workload = rain()
    dag = workload.dag
    assert workload.name == "small"
    assert workload.input_names.tolist() == [
        "L[0,1]", "L[1,-1]", "T[2,2]", "T[3,2]", "theta[4,1]", "theta[4,2]",
    ]  # fmt: skip
    assert workload.output_names.tolist() == ["D[4]"]
    assert [dag.name(node) for node in range(6, dag.size)] == ["D[4,1]", "D[4,2]", "D[4]"]
    assert dag.op[6:].tolist() == [Op.MUL, Op.MUL, Op.ADD]
    assert dag.operands.tolist() == [0, 2, 4, 1, 3, 5, 6, 7]
    assert dag.operations == 5
    assert [workload.place(node) for node in (0, 4, 7, 8)] == [
        "dir/small.psdd:2: node L[0,1]",
        "dir/small.psdd:6: node theta[4,1]",
        "dir/small.psdd:6: node D[4,2]",
        "dir/small.psdd:6: node D[4]",
    ]
    check(dag)


@pytest.mark.parametrize(
    ("evidence", "probability"),
    [
        ({}, 1.0),
        ({1: True}, 0.2),
        ({1: False}, 0.8),
        ({2: True}, 0.2 * 0.9 + 0.8 * 0.3),
        ({1: True, 2: True}, 0.2 * 0.9),
        ({1: True, 2: False}, 0.2 * 0.1),
        ({1: False, 2: True}, 0.8 * 0.3),
        ({1: False, 2: False}, 0.8 * 0.7),
    ],
)
def test_evidence_gives_its_probability(evidence: dict[int, bool], probability: float) -> None:
    assert value(rain(), evidence) == pytest.approx(probability, rel=1e-14)


def test_nothing_is_observed_by_default() -> None:
    assert rain().inputs.tolist() == pytest.approx([1, 1, 1, 1, 0.2, 0.8])


def test_a_decision_of_one_element_is_a_product_without_theta() -> None:
    workload = of("psdd 3\nL 0 0 1\nL 1 0 2\nD 2 1 1 0 1 0.0\n")
    assert workload.input_names.tolist() == ["L[0,1]", "L[1,2]"]
    assert workload.output_names.tolist() == ["D[2]"]
    assert workload.dag.op.tolist() == [Op.INPUT, Op.INPUT, Op.MUL]


def test_shared_nodes_stay_shared_and_unused_leaves_go() -> None:
    workload = of(
        "psdd 6\nL 0 0 1\nL 9 0 9\nL 1 0 2\nD 2 1 1 0 1 0.0\nD 3 1 2 2 0 -0.5 2 1 -0.9328\n"
    )
    assert workload.input_names.tolist() == ["L[0,1]", "L[1,2]", "theta[3,1]", "theta[3,2]"]
    users = np.bincount(workload.dag.operands, minlength=workload.dag.size)
    assert users[workload.dag.names.tolist().index("D[2]")] == 2
    assert workload.variables.tolist() == [1, 2]


def test_a_circuit_may_be_a_single_leaf() -> None:
    workload = of(f"psdd 1\nT 5 0 3 {math.log(0.25)}\n")
    assert workload.output_names.tolist() == workload.input_names.tolist() == ["T[5,3]"]
    assert value(workload, {3: True}) == pytest.approx(0.25)
    assert value(workload, {3: False}) == pytest.approx(0.75)


def test_an_element_may_pair_a_node_with_itself() -> None:
    workload = of("psdd 2\nL 0 0 1\nD 1 0 1 0 0 0.0\n")
    assert workload.dag.operands.tolist() == [0, 0]


def test_evidence_for_an_unknown_variable_is_refused() -> None:
    with refused(
        "dir/small.psdd: evidence for variable 3: the circuit has 2 variables, 1 to 2, without "
        "that one"
    ):
        rain().bind({1: True, 7: False, 3: True})


def test_a_file_is_read_with_evidence(tmp_path: Path) -> None:
    path = tmp_path / "one.psdd"
    path.write_text("psdd 1\nL 0 0 -4\n")
    assert read_psdd(path).inputs.tolist() == [1.0]
    assert read_psdd(path, {4: True}).inputs.tolist() == [0.0]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with refused(f"{tmp_path / 'no.psdd'}: No such file or directory"):
        read_psdd(tmp_path / "no.psdd")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.psdd"
    path.write_bytes(b"psdd 1\n\xff\n")
    with refused(f"{path}:2: not valid UTF-8: only comments may be in another encoding"):
        read_psdd(path)


@pytest.mark.parametrize("name", REAL)
def test_real_circuits_are_distributions(name: str) -> None:
    workload = read_psdd(workload_file(f"dag/{name}.psdd"))
    check(workload.dag)
    assert workload.dag.operations == REAL[name]
    assert len(workload.dag.outputs) == 1
    assert value(workload, {}) == pytest.approx(1.0, rel=1e-9)
    first, second = workload.variables[[0, -1]].tolist()
    whole = 0.0
    for values in itertools.product([False, True], repeat=2):
        whole += value(workload, dict(zip((first, second), values, strict=True)))
    assert whole == pytest.approx(1.0, rel=1e-9)
    random = np.random.default_rng(1)
    some = {variable: random.random() < 0.5 for variable in workload.variables.tolist()[::20]}
    assert 0 < value(workload, some) < 1

"""Generated workloads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from gnarl.sw.workloads.dag.builder import check
from gnarl.sw.workloads.dag.generate import (
    EXAMPLE_OPERATIONS,
    grid_factor,
    probabilistic_circuit,
    random_dag,
    write_examples,
)
from gnarl.sw.workloads.dag.load import load
from gnarl.sw.workloads.dag.psdd import circuit
from gnarl.sw.workloads.dag.psdd_file import parse_psdd
from gnarl.sw.workloads.dag.triangular_system import read_matrix
from tests.support.dpu.dags import evaluate


def test_examples_have_at_least_ten_thousand_operations(tmp_path: Path) -> None:
    paths = write_examples(tmp_path / "examples")
    assert [path.name for path in paths] == ["circuit.psdd", "grid.mtx"]
    assert EXAMPLE_OPERATIONS == 10_000
    for path in paths:
        workload = load(path)
        check(workload.dag)
        assert EXAMPLE_OPERATIONS <= workload.dag.operations < 1.2 * EXAMPLE_OPERATIONS
    texts = [path.read_text() for path in paths]
    assert [path.read_text() for path in write_examples(tmp_path / "examples")] == texts


@pytest.mark.parametrize("operations", [1, 30, 1000, 5000])
def test_circuits_are_distributions(operations: int) -> None:
    text = probabilistic_circuit(operations, seed=operations)
    workload = circuit(parse_psdd(text, "f"), "f")
    assert operations <= workload.dag.operations < 1.5 * operations + 500
    assert evaluate(workload.dag, workload.inputs) == pytest.approx([1.0])
    variable = int(workload.variables[0])
    both = [evaluate(workload.dag, workload.bind({variable: value}))[0] for value in (False, True)]
    assert min(both) > 0
    assert sum(both) == pytest.approx(1.0)


def test_grid_factors_are_incomplete_cholesky_factors(tmp_path: Path) -> None:
    path = tmp_path / "grid.mtx"
    path.write_text(grid_factor(500, seed=2))
    assert read_matrix(path).dag.operations >= 500
    factor = scipy.io.mmread(path).toarray()
    product = factor @ factor.T
    side = int(np.sqrt(len(factor)))
    assert side * side == len(factor)
    # Exact on the stencil; elsewhere fill-in, which is positive for this kind of matrix.
    row, column = np.divmod(np.arange(len(factor)), side)
    distance = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    assert (product[distance == 1] < 0).all()
    sums = np.where(distance <= 1, product, 0).sum(axis=1)
    np.testing.assert_allclose(sums, 0.01, rtol=1e-9)


@pytest.mark.parametrize("operations", [1, 2, 10, 100, 1000, 20_000])
def test_random_dags_have_the_size_asked_for(operations: int) -> None:
    workload = random_dag(operations, seed=7)
    dag = workload.dag
    check(dag)
    assert operations <= dag.operations <= 1.1 * operations + 30
    assert len(dag.outputs) == 1
    (result,) = evaluate(dag, workload.inputs)
    assert 0.1 < result < 1000


def test_random_dags_differ_by_seed_only() -> None:
    one, same, other = (random_dag(1000, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.dag.operands, same.dag.operands)
    assert np.array_equal(one.inputs, same.inputs)
    assert not np.array_equal(one.inputs, other.inputs)


def test_random_dags_have_few_nodes_with_many_users() -> None:
    users = np.bincount(random_dag(100_000, seed=3).dag.operands)
    assert np.median(users) == 1
    assert users.max() > 50


def test_a_million_operations_take_seconds_not_minutes() -> None:
    assert random_dag(1_000_000, seed=1).dag.operations >= 1_000_000

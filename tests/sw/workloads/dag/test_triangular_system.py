"""Triangular systems as DAGs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from scipy.sparse.linalg import spsolve_triangular

from gnarl.sw.workloads.dag.builder import check
from gnarl.sw.workloads.dag.dag import Op
from gnarl.sw.workloads.dag.triangular_matrix import parse_matrix
from gnarl.sw.workloads.dag.triangular_system import TriangularSystem, read_matrix, system
from tests.support.dpu.dags import evaluate
from tests.support.errors import refused
from tests.support.workloads import workload_file

HEADER = "%%MatrixMarket matrix coordinate real general\n"
REAL = {
    # Two-operand operations of a unit system: a product and a subtraction for each entry.
    "HB_bp_200_L": 7584,
    "HB_west2021_L": 8138,
    "MathWorks_Sieber_L": 20478,
    "Bai_rdb968_L": 49650,
    "Bai_dw2048_L": 77192,
}


def of(entries: str, rhs: list[float]) -> TriangularSystem:
    text = f"{HEADER}{len(rhs)} {len(rhs)} {len(entries.splitlines())}\n{entries}"
    return system(parse_matrix(text, "small.mtx"), np.array(rhs), "small.mtx")


def random_matrix(size: int, upper: bool, unit: bool, seed: int) -> scipy.sparse.coo_array:
    random = np.random.default_rng(seed)
    dense = np.where(random.random((size, size)) < 0.2, random.normal(size=(size, size)), 0.0)
    dense = np.triu(dense, 1) if upper else np.tril(dense, -1)
    dense += np.diag(np.ones(size) if unit else random.uniform(1, 3, size))
    return scipy.sparse.coo_array(dense)


def write(path: Path, matrix: scipy.sparse.coo_array, seed: int = 0) -> None:
    """Writes a matrix with its entries in random order."""
    order = np.random.default_rng(seed).permutation(matrix.nnz)
    places = (matrix.row[order], matrix.col[order])
    shuffled = scipy.sparse.coo_array((matrix.data[order], places), shape=matrix.shape)
    scipy.io.mmwrite(path, shuffled, precision=17, symmetry="general")


def test_a_lower_system_by_hand() -> None:
    workload = of("1 1 2\n2 1 3\n2 2 4\n", [10.0, 7.0])
    assert workload.input_names.tolist() == ["b[1]", "b[2]", "L[2,1]", "inv[1]", "inv[2]"]
    assert workload.inputs.tolist() == [10.0, 7.0, 3.0, 0.5, 0.25]
    assert workload.output_names.tolist() == ["x[1]", "x[2]"]
    assert evaluate(workload.dag, workload.inputs).tolist() == [5.0, (7.0 - 15.0) / 4]
    dag = workload.dag
    assert [dag.name(node) for node in range(5, dag.size)] == [
        "x[1]", "L[2,1]*x[1]", "r[2]", "x[2]",
    ]  # fmt: skip
    assert dag.op[5:].tolist() == [Op.MUL, Op.MUL, Op.ADD, Op.MUL]
    assert dag.negative.tolist() == [False] * 5 + [True] + [False] * 2
    assert [workload.place(node) for node in (0, 2, 3, 6, 8)] == [
        "small.mtx:3: node b[1]",
        "small.mtx:4: node L[2,1]",
        "small.mtx:3: node inv[1]",
        "small.mtx:4: node L[2,1]*x[1]",
        "small.mtx:5: node x[2]",
    ]


def test_an_upper_unit_system_by_hand() -> None:
    workload = of("1 1 1\n1 2 -3\n2 2 1\n", [10.0, 7.0])
    assert workload.input_names.tolist() == ["b[1]", "b[2]", "U[1,2]"]
    assert workload.output_names.tolist() == ["x[1]", "x[2]"]
    assert evaluate(workload.dag, workload.inputs).tolist() == [31.0, 7.0]
    first, second = workload.dag.outputs.tolist()
    assert workload.place(first) == "small.mtx:3: node x[1]"
    assert workload.place(second) == "small.mtx:5: node x[2]"
    assert workload.dag.operations == 2


def test_a_row_without_other_entries_is_still_a_node_of_its_own() -> None:
    workload = of("1 1 1\n", [4.0])
    assert workload.input_names.tolist() == ["b[1]"]
    assert workload.output_names.tolist() == ["x[1]"]
    assert workload.dag.op.tolist() == [Op.INPUT, Op.ADD]


@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
@pytest.mark.parametrize("unit", [False, True], ids=["any", "unit"])
@pytest.mark.parametrize("size", [1, 2, 40])
def test_random_systems_solve(tmp_path: Path, size: int, upper: bool, unit: bool) -> None:
    matrix = random_matrix(size, upper, unit, seed=size)
    write(tmp_path / "m.mtx", matrix)
    workload = read_matrix(tmp_path / "m.mtx", seed=3)
    check(workload.dag)
    rhs = workload.inputs[:size]
    assert np.abs(rhs).max() <= 1
    expected = np.linalg.solve(matrix.toarray(), rhs)
    np.testing.assert_allclose(evaluate(workload.dag, workload.inputs), expected, rtol=1e-9)
    entries = matrix.nnz - size
    assert workload.dag.operations == 2 * entries + (0 if unit else size)


def test_the_order_of_entries_makes_no_difference(tmp_path: Path) -> None:
    matrix = random_matrix(20, upper=False, unit=False, seed=1)
    workloads = []
    for seed in range(2):
        write(tmp_path / "m.mtx", matrix, seed)
        workloads.append(read_matrix(tmp_path / "m.mtx"))
    one, two = workloads
    assert np.array_equal(one.inputs, two.inputs)
    assert np.array_equal(one.dag.operands, two.dag.operands)
    assert np.array_equal(one.dag.names, two.dag.names)


def test_new_values_and_right_hand_sides() -> None:
    workload = of("1 1 2\n2 1 3\n2 2 4\n", [10.0, 7.0])
    assert workload.bind(np.array([1, 2])).tolist() == [1.0, 2.0, 3.0, 0.5, 0.25]
    matrix = scipy.sparse.csr_array(np.array([[8.0, 0.0], [-1.0, 16.0]]))
    values = workload.bind(np.array([1.0, 2.0]), matrix)
    assert values.tolist() == [1.0, 2.0, -1.0, 0.125, 0.0625]


def test_a_unit_matrix_may_be_compiled_for_any_diagonal(tmp_path: Path) -> None:
    path = tmp_path / "m.mtx"
    path.write_text(HEADER + "2 2 3\n1 1 1\n2 2 1\n2 1 5\n")
    assert read_matrix(path).input_names.tolist() == ["b[1]", "b[2]", "L[2,1]"]
    general = read_matrix(path, unit=False)
    assert general.input_names.tolist() == ["b[1]", "b[2]", "L[2,1]", "inv[1]", "inv[2]"]
    values = general.bind(np.array([1.0, 2.0]))
    assert evaluate(general.dag, values).tolist() == [1.0, -3.0]


def test_a_diagonal_that_is_not_all_ones_is_refused_where_it_must_be(tmp_path: Path) -> None:
    path = tmp_path / "m.mtx"
    path.write_text(HEADER + "2 2 3\n1 1 1\n2 2 3\n2 1 5\n")
    with refused(
        f"{path}:4: entry (2, 2) is 3.0: must be 1, as the diagonal is all ones by structure"
    ):
        read_matrix(path, unit=True)


UNIT = "1 1 1\n2 1 3\n2 2 1\n"
GENERAL = "1 1 2\n2 1 3\n2 2 4\n"
ONES = [1.0, 1.0]


@pytest.mark.parametrize(
    ("entries", "rhs", "matrix", "error"),
    [
        (UNIT, [1.0], None, "small: right-hand side of shape (1,): must be (2,)"),
        (UNIT, [1.0, np.nan], None, "small: b[2] = nan: must be finite in float64"),
        (
            UNIT,
            ONES,
            [[1.0, 0.0], [3.0, 2.0]],
            "small: entry (2, 2) is 2.0: must be 1, as the diagonal is all ones by structure",
        ),
        (
            GENERAL,
            ONES,
            [[1.0, 0.0], [0.0, 2.0]],
            "small: the new matrix (2 x 2, 2 entries) must have the pattern of the old one "
            "(2 x 2, 3 entries)",
        ),
        (
            GENERAL,
            ONES,
            [[1.0, 3.0], [0.0, 2.0]],
            "small: the new matrix (2 x 2, 3 entries) must have the pattern of the old one "
            "(2 x 2, 3 entries)",
        ),
        (
            GENERAL,
            ONES,
            [[1.0]],
            "small: the new matrix (1 x 1, 1 entries) must have the pattern of the old one "
            "(2 x 2, 3 entries)",
        ),
        (
            GENERAL,
            ONES,
            [[1.0, 0.0], [np.inf, 2.0]],
            "small: entry (2, 1) = inf: must be finite in float64",
        ),
        (
            GENERAL,
            ONES,
            [[1.0, 0.0], [3.0, 1e-310]],
            "small: entry (2, 2) is 1e-310: must be finite and have a finite reciprocal",
        ),
    ],
)
def test_values_that_do_not_fit_are_refused(
    entries: str, rhs: list[float], matrix: list[list[float]] | None, error: str
) -> None:
    workload = of(entries, ONES)
    new = None if matrix is None else scipy.sparse.csr_array(np.array(matrix))
    with refused(error):
        workload.bind(np.array(rhs), new)


def test_a_zero_on_the_new_diagonal_is_refused() -> None:
    places = (np.array([0, 1, 1]), np.array([0, 0, 1]))
    matrix = scipy.sparse.coo_array((np.array([1.0, 1.0, 0.0]), places), shape=(2, 2))
    with refused("small: entry (2, 2) is 0.0: must be finite and have a finite reciprocal"):
        of(GENERAL, ONES).bind(np.array(ONES), matrix)


@pytest.mark.parametrize("name", REAL)
def test_real_systems_solve(name: str) -> None:
    path = workload_file(f"dag/{name}.mtx")
    workload = read_matrix(path)
    check(workload.dag)
    assert workload.dag.operations == REAL[name]
    matrix = scipy.io.mmread(path).tocsr()
    rhs = workload.inputs[: matrix.shape[0]]
    expected = spsolve_triangular(matrix, rhs, lower=True)
    np.testing.assert_allclose(evaluate(workload.dag, workload.inputs), expected, atol=1e-12)
    assert np.array_equal(workload.bind(rhs, 2 * matrix - matrix), workload.inputs)

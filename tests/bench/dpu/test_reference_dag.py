"""The DAGs that the paper's authors compile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.dpu_parts.reference_dag import read_reference
from bench.dpu_parts.table import REFERENCE_CYCLES
from gnarl.sw.golden.dpu import reference
from gnarl.sw.workloads.dag.dag import Op
from gnarl.sw.workloads.dag.psdd import read_psdd
from tests.support.workloads import workload_file

# In the order of REFERENCE_CYCLES. The paper's table I: 9k, 10k, 48k, 51k, 8k, 10k, 23k, 51k, 79k.
OPERATIONS = (8813, 10414, 47334, 50931, 8406, 10159, 22768, 50618, 79240)


@pytest.mark.parametrize(("path", "operations"), [*zip(REFERENCE_CYCLES, OPERATIONS, strict=True)])
def test_as_many_operations_as_the_paper_has_nodes(path: str, operations: int):
    assert read_reference(workload_file(path), 0).dag.operations == operations


CIRCUIT = """psdd 9
L 0 0 1
L 1 0 -1
T 2 2 2 -0.5
L 3 2 2
L 4 2 -2
D 5 2 2 3 4 -0.2525 4 3 -1.5
D 6 1 1 0 2 0
D 7 1 2 0 2 -0.2525 1 5 -1.5
T 8 4 3 -0.5
D 9 3 2 6 8 -0.6931 7 8 -0.6931
"""


def test_a_circuit_has_every_product_and_shares_leaves(tmp_path: Path):
    file = tmp_path / "small.psdd"
    file.write_text(CIRCUIT)
    dag = read_reference(file, 0).dag
    # Two T of 3 operations, 7 elements of 2 products each, 3 sums of two of them.
    assert dag.operations == 2 * 3 + 7 * 2 + 3
    literals = ["L[-1]", "L[-2]", "L[-3]", "L[1]", "L[2]", "L[3]"]
    assert sorted(dag.name(node) for node in dag.inputs) == literals
    # exp of -0.5, -0.2525, -1.5, -0.6931 and 0; and 1 - exp(-0.5).
    assert int((dag.op == Op.CONST).sum()) == 6


@pytest.mark.parametrize("evidence", [{}, {1: True, 2: False}, {3: True}, {1: False, 3: False}])
def test_it_means_what_the_circuit_means(tmp_path: Path, evidence: dict[int, bool]):
    file = tmp_path / "small.psdd"
    file.write_text(CIRCUIT)
    circuit = read_psdd(file, evidence)
    other = read_reference(file, 0)
    literals = [int(name[2:-1]) for name in other.input_names]
    observed = [float(evidence.get(abs(at), at > 0) == (at > 0)) for at in literals]
    (expected,) = reference(circuit.dag, circuit.inputs)[circuit.dag.outputs]
    (found,) = reference(other.dag, np.array(observed))[other.dag.outputs]
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_solve_multiplies_by_reciprocals_of_one(tmp_path: Path):
    file = tmp_path / "unit.mtx"
    file.write_text(
        "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 2 1\n3 3 1\n3 1 5\n"
    )
    assert read_reference(file, 0).dag.operations == 2 + 3

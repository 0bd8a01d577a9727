"""New input values for a compiled program."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.workloads.dag.load import load
from gnarl.sw.workloads.dag.rebind import values_from_file
from gnarl.sw.workloads.dag.workload import DagWorkload
from tests.support.errors import refused

HEADER = "%%MatrixMarket matrix coordinate real general\n"
GENERAL = "2 2 3\n1 1 2\n2 1 3\n2 2 4\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def rebind(workload: DagWorkload, path: Path, defaults: np.ndarray | None = None) -> list[float]:
    # A program keeps the names of its inputs only.
    dag = replace(workload.dag, names=None)
    return values_from_file(path, dag, workload.input_names, defaults, seed=5).tolist()


@pytest.fixture
def general(tmp_path: Path) -> DagWorkload:
    return load(write(tmp_path / "general.mtx", HEADER + GENERAL))


@pytest.fixture
def unit(tmp_path: Path) -> DagWorkload:
    return load(write(tmp_path / "unit.mtx", HEADER + "2 2 3\n1 1 1\n2 1 3\n2 2 1\n"))


def test_a_matrix_of_the_same_pattern(tmp_path: Path, general: DagWorkload) -> None:
    path = write(tmp_path / "new.mtx", HEADER + "2 2 3\n2 2 -0.5\n2 1 7\n1 1 8\n")
    values = rebind(general, path)
    assert values[2:] == [7.0, 0.125, -2.0]
    assert values == load(path, seed=5).inputs.tolist()


def test_a_unit_matrix_for_a_program_that_takes_any_diagonal(
    tmp_path: Path, general: DagWorkload
) -> None:
    path = write(tmp_path / "new.mtx", HEADER + "2 2 3\n2 2 1\n2 1 7\n1 1 1\n")
    assert rebind(general, path)[2:] == [7.0, 1.0, 1.0]


def test_any_diagonal_for_a_unit_program_is_refused(tmp_path: Path, unit: DagWorkload) -> None:
    path = write(tmp_path / "new.mtx", HEADER + GENERAL)
    with refused(
        f"{path}:3: entry (1, 1) is 2.0: must be 1, as the diagonal is all ones by structure"
    ):
        rebind(unit, path)


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ("2 2 2\n1 1 2\n2 2 4\n", "4 inputs instead of 5"),
        ("2 2 3\n1 1 2\n1 2 3\n2 2 4\n", "input 2 is U[1,2] instead of L[2,1]"),
    ],
)
def test_another_pattern_is_refused(
    tmp_path: Path, general: DagWorkload, entries: str, text: str
) -> None:
    path = write(tmp_path / "new.mtx", HEADER + entries)
    with refused(f"{path}: another structure than the program's: {text}"):
        rebind(general, path)


CIRCUIT = "psdd 4\nL 0 0 1\nL 1 0 -1\nT 2 1 2 {p}\nD 3 2 2 {pair} {logs[0]} 1 2 {logs[1]}\n"
LOGS = (-0.28768, -1.38629)  # of 3/4 and 1/4


def test_new_probabilities_of_a_circuit(tmp_path: Path) -> None:
    old = load(write(tmp_path / "old.psdd", CIRCUIT.format(p=-1, pair="0 2", logs=LOGS)))
    new = write(tmp_path / "new.psdd", CIRCUIT.format(p=-1, pair="0 2", logs=LOGS[::-1]))
    assert rebind(old, new) == pytest.approx([1, 1, 1, 0.25, 0.75], abs=1e-4)


def test_another_circuit_with_inputs_of_the_same_names_is_refused(tmp_path: Path) -> None:
    old = load(write(tmp_path / "old.psdd", CIRCUIT.format(p=-1, pair="0 2", logs=LOGS)))
    new = write(tmp_path / "new.psdd", CIRCUIT.format(p=-1, pair="2 0", logs=LOGS))
    with refused(
        f"{new}: another structure than the program's: inputs have the same names, but operands "
        "of the DAG differ"
    ):
        rebind(old, new)


def test_another_constant_is_refused(tmp_path: Path) -> None:
    text = "a r {{'op': 'add'}}\nc r\nc {{'op': 'const', 'value': {}}}\na {{'value': {}}}\n"
    old = load(write(tmp_path / "old.edges", text.format(1, 1)))
    assert rebind(old, write(tmp_path / "new.edges", text.format(1, 2))) == [2.0]
    path = write(tmp_path / "new.edges", text.format(2, 2))
    with refused(
        f"{path}: another structure than the program's: inputs have the same names, but constants "
        "of the DAG differ"
    ):
        rebind(old, path)


def test_a_node_link_graph_is_distinguished_from_values(tmp_path: Path) -> None:
    text = '{"directed": true, "nodes": [{"id": "x", "op": "input", "value": %s}], "links": []}'
    old = load(write(tmp_path / "old.json", text % 1))
    assert rebind(old, write(tmp_path / "new.json", text % 2.5)) == [2.5]


def test_values_by_name_in_any_order(tmp_path: Path, general: DagWorkload) -> None:
    values = {"inv[2]": -1e-3, "b[1]": 1, "L[2,1]": 2.5, "b[2]": 1e300, "inv[1]": 0}
    path = write(tmp_path / "v.json", json.dumps(values))
    assert rebind(general, path) == [1.0, 1e300, 2.5, 0.0, -0.001]


def test_defaults_fill_what_the_file_leaves_out(tmp_path: Path, general: DagWorkload) -> None:
    path = write(tmp_path / "v.json", '{"b[2]": 9}')
    defaults = np.arange(5.0)
    assert rebind(general, path, defaults) == [0.0, 9.0, 2.0, 3.0, 4.0]
    assert defaults.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[1, 2]", ": must be an object of input names and numbers"),
        ("{", ":1: invalid JSON at column 2: Expecting property name enclosed in double quotes"),
        (
            '{"b[1]": 1, "b[2]": 1, "L[2,1]": 1}',
            ": no value for inv[1], inv[2]: every input must have one",
        ),
        ("{}", ": no value for b[1], b[2], L[2,1], … (5 in all): every input must have one"),
        (
            '{"b[3]": 1}',
            ": no input is called b[3]: the program has 5 inputs, b[1], b[2], L[2,1], … (5 in all)",
        ),
    ],
)
def test_names_that_do_not_fit_are_refused(
    tmp_path: Path, general: DagWorkload, text: str, error: str
) -> None:
    path = write(tmp_path / "v.json", text)
    with refused(f"{path}{error}"):
        rebind(general, path)


@pytest.mark.parametrize("value", ['"1"', "true", "null", "[1]"])
def test_values_that_are_no_numbers_are_refused(
    tmp_path: Path, general: DagWorkload, value: str
) -> None:
    path = write(tmp_path / "v.json", f'{{"b[1]": {value}}}')
    with refused(f"{path}: b[1] = {value}: must be a number"):
        rebind(general, path, np.zeros(5))


def test_an_unknown_kind_of_file_is_refused(tmp_path: Path, general: DagWorkload) -> None:
    with refused(
        "v.csv: no workload has the extension '.csv': must be one of "
        ".psdd, .mtx, .npz, .graphml, .gml, .json, .edgelist, .edges"
    ):
        rebind(general, Path("v.csv"))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e400", str(10**400)])
def test_values_that_are_not_finite_are_refused(
    tmp_path: Path, general: DagWorkload, value: str
) -> None:
    path = write(tmp_path / "v.json", f'{{"b[1]": {value}}}')
    shown = json.dumps(json.loads(value, parse_int=float))
    with refused(f"{path}: b[1] = {shown}: must be finite in float64"):
        rebind(general, path, np.zeros(5))

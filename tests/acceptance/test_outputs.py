"""Outputs of ``gnarl run``: as files for every target, and what reports show of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gnarl.sw.workloads.tensor.tensor_files import load_tensor
from tests.support.commands import gnarl, refusal
from tests.support.cuda.embedding_files import write_model, write_values
from tests.support.dpu.dag_files import CONFIG, node_link
from tests.support.sam.files import CONFIG as SAM
from tests.support.sam.files import COPY, PRODUCT, B, C, write_mtx


def run(config: str, workload: str | Path, *arguments: str | Path) -> dict[str, Any]:
    """The report of a run on the model or emulation that succeeds."""
    backend = "emulation" if config.startswith("cuda") else "model"
    result = gnarl("run", config, workload, *arguments, "--backend", backend, "--json")
    assert (result.exit_code, result.stdout.count("\n")) == (0, 1), result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def negations(folder: Path, count: int) -> Path:
    """A DAG with ``count`` outputs, the k-th of them -k."""
    nodes = [{"id": f"x{k}", "op": "input", "value": float(k)} for k in range(count)]
    nodes += [{"id": f"y{k}", "op": "neg"} for k in range(count)]
    path = folder / "negations.json"
    path.write_text(node_link(nodes, *((f"x{k}", f"y{k}") for k in range(count))))
    return path


@pytest.fixture
def product(tmp_path: Path) -> list[str]:
    """The options that give ``B`` and ``C``."""
    b, c = write_mtx(tmp_path / "b.mtx", B), write_mtx(tmp_path / "c.mtx", C)
    return ["--tensor", f"B={b}", "--tensor", f"C={c}"]


def test_named_scalars_are_arrays_with_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "result.npz"
    run(CONFIG, negations(tmp_path, 3), "-o", path)
    with np.load(path) as arrays:
        assert arrays.files == ["outputs", "outputs.labels"]
        assert arrays["outputs"].dtype == np.float32
        assert arrays["outputs"].tolist() == [0, -1, -2]
        assert arrays["outputs.labels"].tolist() == ["y0", "y1", "y2"]


def test_a_sparse_matrix_is_scipys(tmp_path: Path, product: list[str]) -> None:
    path = tmp_path / "result.npz"
    run(SAM, PRODUCT, *product, "-o", path)
    result = scipy.sparse.load_npz(path)
    assert (result.dtype, result.toarray().tolist()) == (np.float32, (B @ C).tolist())


@pytest.mark.parametrize("format", ["float16", "bfloat16", "fixed16.8"])
def test_types_that_scipy_has_not_are_float64(
    tmp_path: Path, product: list[str], format: str
) -> None:
    path = tmp_path / "result.npz"
    run(SAM, PRODUCT, *product, "-o", path, "--set", f"format={format}")
    result = scipy.sparse.load_npz(path)
    assert (result.dtype, result.toarray().tolist()) == (np.float64, (B @ C).tolist())


def test_a_sparse_vector_is_its_coordinates_and_values(tmp_path: Path) -> None:
    path, b = tmp_path / "result.npz", write_mtx(tmp_path / "b.mtx", B)
    run(SAM, "x(i)=B(i,j) -f=x:s -f=B:ss", "--tensor", f"B={b}", "-o", path)
    sums = B.sum(axis=1)
    with np.load(path) as arrays:
        assert arrays["x.coordinates"].tolist() == np.argwhere(sums).tolist()
        assert arrays["x.values"].tolist() == sums[sums != 0].tolist()
        assert arrays["x.shape"].tolist() == [3]
        assert arrays["x.values"].dtype == np.float32


def test_a_dense_matrix_is_an_array(tmp_path: Path) -> None:
    path, b = tmp_path / "result.npz", write_mtx(tmp_path / "b.mtx", B)
    run(SAM, "X(i,j)=2*B(i,j) -f=X:dd -f=B:ss", "--tensor", f"B={b}", "-o", path)
    with np.load(path) as arrays:
        assert arrays.files == ["X"]
        assert arrays["X"].tolist() == (2 * B).tolist()


def test_a_folder_has_fibertrees_that_are_operands_again(
    tmp_path: Path, product: list[str]
) -> None:
    folder = tmp_path / "result"
    run(SAM, PRODUCT, *product, "-o", folder)
    assert load_tensor(folder, "X").to_dense().tolist() == (B @ C).tolist()
    copied = run(SAM, "Y(i,j)=X(i,j) -f=Y:ss -f=X:ss", "--tensor", f"X={folder}")
    assert copied["outputs"]["Y"]["entries"] == np.count_nonzero(B @ C)


def test_features_are_arrays_or_fibertrees(tmp_path: Path) -> None:
    model, values = write_model(tmp_path), write_values(tmp_path / "mine.npz")
    path, folder = tmp_path / "result.npz", tmp_path / "result"
    report = run("cuda_sm90", model, "--values", values, "-o", path)
    run("cuda_sm90", model, "--values", values, "-o", folder)
    with np.load(path) as arrays:
        assert arrays.files == list(report["outputs"]) == ["f0", "f1", "f2"]
        for name in arrays.files:
            assert arrays[name].dtype == np.float32
            assert list(arrays[name].shape) == report["outputs"][name]["shape"]
            assert load_tensor(folder, name).to_dense().tolist() == arrays[name].tolist()


@pytest.mark.parametrize("source", ["workload", "program"])
def test_outputs_of_programs_are_those_of_their_workload(tmp_path: Path, source: str) -> None:
    graph, path = negations(tmp_path, 2), tmp_path / "result.npz"
    values = tmp_path / "values.json"
    values.write_text('{"x0": 5, "x1": 6}')
    if source == "program":
        program = tmp_path / "program.npz"
        assert gnarl("compile", CONFIG, graph, "-o", program).exit_code == 0
        graph = program
    run(CONFIG, graph, "--values", values, "-o", path)
    with np.load(path) as arrays:
        assert arrays["outputs"].tolist() == [-5, -6]


def test_up_to_a_hundred_scalars_are_reported_whole(tmp_path: Path) -> None:
    outputs = run(CONFIG, negations(tmp_path, 100))["outputs"]
    assert outputs == {f"y{k}": float(-k) for k in range(100)}


def test_of_more_scalars_shape_type_and_a_few_values_are_reported(tmp_path: Path) -> None:
    graph = negations(tmp_path, 101)
    assert run(CONFIG, graph)["outputs"] == {
        "outputs": {
            "shape": [101],
            "type": "float32",
            "entries": 101,
            "values": {"y0": 0.0, "y1": -1.0, "y2": -2.0, "y3": -3.0},
        }
    }
    page = gnarl("run", CONFIG, graph, "--backend", "model").stdout
    assert "  y0 = -0, y1 = -1, y2 = -2, y3 = -3, and 97 more\n" in page


def test_of_large_tensors_shape_type_and_a_few_values_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "b.npy"
    np.save(path, np.arange(1.0, 201.0).reshape(10, 20))
    arguments = (COPY, "--tensor", f"B={path}")
    assert run(SAM, *arguments)["outputs"] == {
        "X": {
            "shape": [10, 20],
            "type": "float32",
            "entries": 200,
            "values": {f"X[0,{j}]": j + 1.0 for j in range(4)},
        }
    }
    page = gnarl("run", SAM, *arguments, "--backend", "model").stdout
    assert "X [10, 20] float32: X[0,0] = 1, X[0,1] = 2, X[0,2] = 3, X[0,3] = 4, and 196" in page


@pytest.mark.parametrize("name", ["result.csv", "result.npy"])
def test_an_ending_that_no_output_has(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert refusal(tmp_path, "run", CONFIG, negations(tmp_path, 1), "-o", path) == (
        f"gnarl: {path}: outputs are not written to {path.suffix} files: must be an .npz file, or "
        "a folder for fibertrees"
    )


def test_an_output_in_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "no" / "result.npz"
    assert refusal(tmp_path, "run", CONFIG, negations(tmp_path, 1), "-o", path) == (
        f"gnarl run: Invalid value for '-o' / '--output': {path.parent}: no such folder. "
        "See gnarl run --help"
    )

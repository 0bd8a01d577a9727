"""Outputs in files, as NumPy, SciPy and the SAM tools read them."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.tensor_spec import Array, Labelled, Sparse, TensorSpec, labels_of
from gnarl.sw.runtime.report.output_files import save_outputs
from gnarl.sw.workloads.tensor.fibertree_files import load_fibertree
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.commands import gnarl, refusal
from tests.support.dpu.dag_files import node_link

CSR = Sparse(("dense", "compressed"), (0, 1))

MATRIX = Tensor((3, 4), np.array([[0, 1], [2, 3]]), np.array([0.5, -2.0], np.float32))


def saved(path: Path, *pairs: tuple[TensorSpec, Array]) -> dict[str, np.ndarray]:
    save_outputs(path, [spec for spec, _ in pairs], {spec.name: array for spec, array in pairs})
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


@pytest.mark.parametrize("type", ["float16", "float32", "float64", "int64", "uint8"])
def test_arrays_have_their_own_shape_and_type(tmp_path: Path, type: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(type)
    found = saved(tmp_path / "x.npz", (TensorSpec("x", (2, 3), type), array))
    assert found["x"].dtype == np.dtype(type)
    assert found["x"].tolist() == array.tolist()
    assert list(tmp_path.iterdir()) == [tmp_path / "x.npz"]


def test_types_that_numpy_lacks_become_float64(tmp_path: Path) -> None:
    values = np.array([0.5, np.inf, 3.0], ml_dtypes.bfloat16)
    found = saved(tmp_path / "x.npz", (TensorSpec("x", (3,), "bfloat16"), values))
    assert found["x"].dtype == np.float64
    assert found["x"].tolist() == [0.5, np.inf, 3.0]


def test_several_outputs_of_any_storage(tmp_path: Path) -> None:
    labels = labels_of(["größe", "b"])
    pairs = [
        (TensorSpec("outputs", (2,), "float32", Labelled(labels)), np.array([1, 2], np.float32)),
        (TensorSpec("m", (3, 4), "float32", CSR), MATRIX),
        (TensorSpec("s", (), "int64"), np.array(7)),
        (TensorSpec("none", (0, 3), "uint8"), np.zeros((0, 3), np.uint8)),
    ]
    found = saved(tmp_path / "x.npz", *pairs)
    assert set(found) == {
        *("outputs", "outputs.labels", "m.coordinates", "m.values", "m.shape", "s", "none")
    }
    assert found["outputs.labels"].tolist() == ["größe", "b"]
    assert found["m.coordinates"].tolist() == [[0, 1], [2, 3]]
    assert found["m.values"].dtype == np.float32
    assert found["m.shape"].tolist() == [3, 4]
    assert (found["s"].shape, found["s"].dtype) == ((), np.int64)
    assert found["none"].shape == (0, 3)


@pytest.mark.parametrize("name", ["file", "allow_pickle", "args", "x y", "ß"])
def test_tensors_may_have_any_name(tmp_path: Path, name: str) -> None:
    found = saved(tmp_path / "x.npz", (TensorSpec(name, (1,), "float32"), np.ones(1, np.float32)))
    assert found[name].tolist() == [1.0]


@pytest.mark.parametrize("type", ["float32", "bfloat16"])
def test_a_sparse_matrix_alone_is_scipys(tmp_path: Path, type: str) -> None:
    path = tmp_path / "x.npz"
    spec = TensorSpec("x", (3, 4), type, CSR)
    tensor = Tensor(MATRIX.shape, MATRIX.coordinates, MATRIX.values.astype(spec.dtype))
    save_outputs(path, [spec], {"x": tensor})
    found = scipy.sparse.load_npz(path)
    assert found.dtype == (np.float32 if type == "float32" else np.float64)
    assert found.shape == (3, 4)
    expected = [[0, 0.5, 0, 0], [0, 0, 0, 0], [0, 0, 0, -2.0]]
    assert found.toarray().tolist() == expected


def test_a_sparse_tensor_of_another_order_is_coordinates(tmp_path: Path) -> None:
    vector = Tensor((2**40,), np.array([[5]]), np.array([1.5], np.float32))
    spec = TensorSpec("x", ("n",), "float32", Sparse(("compressed",), (0,)))
    found = saved(tmp_path / "x.npz", (spec, vector))
    assert {name: array.tolist() for name, array in found.items()} == {
        "x.coordinates": [[5]],
        "x.values": [1.5],
        "x.shape": [2**40],
    }


@pytest.mark.parametrize(
    "levels", [("dense", "dense"), ("dense", "compressed"), ("bitvector", "bitvector")]
)
def test_a_folder_of_fibertrees(tmp_path: Path, levels: tuple[str, str]) -> None:
    spec = TensorSpec("x", (3, 4), "float32", Sparse(levels, (0, 1)))
    save_outputs(tmp_path / "out", [spec], {"x": MATRIX})
    found = load_fibertree(tmp_path / "out", "x")
    assert found.to_dense().tolist() == MATRIX.to_dense().tolist()
    files = {path.name for path in (tmp_path / "out").iterdir()}
    stored = {
        f"tensor_x_mode_{m}_{k}" for m in (0, 1) if levels[m] != "dense" for k in ("seg", "crd")
    }
    assert files == {"tensor_x_mode_vals", "tensor_x_mode_shape", *stored}


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_dense_arrays_are_fibertrees_too(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)
    save_outputs(tmp_path / "out", [TensorSpec("y", shape, "float32")], {"y": array})
    found = load_fibertree(tmp_path / "out", "y")
    assert found.to_dense().tolist() == array.tolist()


@pytest.mark.parametrize("ending", [".npy", ".mtx", ".NPZ"])
def test_other_endings_are_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    text = (
        f"{path}: outputs are not written to {ending} files: must be an .npz file, or a folder for "
        "fibertrees"
    )
    with pytest.raises(WorkloadError, match=f"^{re.escape(text)}$"):
        save_outputs(path, [], {})
    assert refusal(tmp_path, "run", "dpu_d1_b8", "absent.json", "-o", path) == f"gnarl: {text}"


def test_a_folder_that_does_not_exist_is_refused_before_the_run(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "x.npz"
    assert refusal(tmp_path, "run", "dpu_d1_b8", "absent.json", "-o", path) == (
        f"gnarl run: Invalid value for '-o' / '--output': {tmp_path}/nowhere: no such folder. "
        "See gnarl run --help"
    )


def test_scalars_of_a_dag(tmp_path: Path) -> None:
    dag = tmp_path / "dag.json"
    nodes = [
        {"id": "a", "op": "input", "value": 1.0},
        {"id": "b", "op": "input", "value": 2.0},
        {"id": "größe", "op": "add"},
    ]
    dag.write_text(node_link(nodes, ("a", "größe"), ("b", "größe")))
    path = tmp_path / "x.npz"
    result = gnarl("run", "dpu_d1_b8", dag, "--backend", "model", "-o", path)
    assert result.exit_code == 0, result.stderr
    with np.load(path) as archive:
        assert dict(zip(archive["outputs.labels"].tolist(), archive["outputs"], strict=True)) == {
            "größe": 3.0
        }
        assert archive["outputs"].dtype == np.float32


@pytest.mark.parametrize("output", ["x.npz", "folder"])
def test_a_product_of_sparse_matrices(tmp_path: Path, output: str) -> None:
    matrix = scipy.sparse.csr_array(([2.0, 3.0], ([0, 2], [1, 2])), (3, 3))
    scipy.sparse.save_npz(tmp_path / "b.npz", matrix)
    statement = "X(i,j)=B(i,k)*C(k,j) -f=X:ss -f=B:ss -f=C:ss:1,0"
    operands = [f"--tensor={name}={tmp_path}/b.npz" for name in "BC"]
    path = tmp_path / output
    result = gnarl("run", "sam_fp32", statement, *operands, "--backend", "model", "-o", path)
    assert result.exit_code == 0, result.stderr
    if output == "folder":
        found = load_fibertree(path, "X").to_dense()
    else:
        found = scipy.sparse.load_npz(path).toarray()
        assert found.dtype == np.float32
    assert found.tolist() == (matrix @ matrix).toarray().tolist()


def test_named_scalars_have_no_fibertrees(tmp_path: Path) -> None:
    dag, folder = tmp_path / "dag.json", tmp_path / "out"
    nodes = [{"id": "a", "op": "input", "value": 1.5}, {"id": "b", "op": "neg"}]
    dag.write_text(node_link(nodes, ("a", "b")))
    assert refusal(tmp_path, "run", "dpu_d1_b8", dag, "-o", folder) == (
        f"gnarl: {folder}: fibertrees have no labels, which outputs has: must be an .npz file"
    )

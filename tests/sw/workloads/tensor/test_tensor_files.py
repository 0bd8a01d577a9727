"""Tensors from files and to files; fibertree folders have tests of their own."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.refusals import InputWarning
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import load_tensor, save_tensor
from tests.support.errors import refused
from tests.support.tensors import random_tensors, same

DENSE = np.array([[0, 1.5, 0, 0], [0, 0, 0, 2], [-3, 0, 4, 0]])
SQUARE = np.array([[1.0, 2, 0], [2, 0, -3], [0, -3, 5]])
SKEW = np.array([[0.0, -2, 0], [2, 0, -3], [0, 3, 0]])
FORMATS = ["bsr", "coo", "csc", "csr", "dia"]


# Matrix Market


@pytest.mark.parametrize("layout", ["coordinate", "array"])
@pytest.mark.parametrize(
    ("dense", "symmetry"),
    [(DENSE, "general"), (SQUARE, "symmetric"), (SKEW, "skew-symmetric")],
    ids=["general", "symmetric", "skew"],
)
@pytest.mark.parametrize("field", ["real", "integer"])
def test_matrix_market_as_scipy_writes_it(
    tmp_path: Path, layout: str, dense: np.ndarray, symmetry: str, field: str
) -> None:
    if field == "integer":
        dense = np.trunc(dense).astype(np.int64)
    matrix: Any = scipy.sparse.coo_array(dense) if layout == "coordinate" else dense
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix, symmetry=symmetry)
    header = (tmp_path / "m.mtx").read_text().splitlines()[0].split()[2:]
    assert header == [layout, field, symmetry]
    assert same(load_tensor(tmp_path / "m.mtx"), Tensor.from_any(dense))


def test_patterns_are_ones(tmp_path: Path) -> None:
    path = tmp_path / "m.MTX"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n3 1\n2 2\n")
    assert load_tensor(path).to_dense().tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_explicit_zeros_of_a_matrix_are_entries(tmp_path: Path) -> None:
    path = tmp_path / "m.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 3 2\n2 3 0\n1 1 4\n")
    assert load_tensor(path).coordinates.tolist() == [[0, 0], [1, 2]]


HEADER = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "f.mtx:1: the first line must be '%%MatrixMarket matrix coordinate real general'"),
        (
            "%%MatrixMarket matrix coordinate complex general\n",
            "f.mtx:1: field 'complex': must be real, integer or pattern",
        ),
        (
            "%%MatrixMarket matrix coordinate real hermitian\n",
            "f.mtx:1: symmetry 'hermitian': must be general, symmetric or skew-symmetric",
        ),
        (
            "%%MatrixMarket matrix elements real general\n",
            "f.mtx:1: format 'elements': must be coordinate or array",
        ),
        (
            "%%MatrixMarket matrix array pattern general\n",
            "f.mtx:1: field 'pattern': must be real or integer in an array",
        ),
        (
            "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
            "f.mtx: the file ends after 3 of 4 entries",
        ),
        (
            "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n4\n",
            "f.mtx:6: more entries than the 3 announced",
        ),
        (
            "%%MatrixMarket matrix array real general\n2 2 4\n",
            "f.mtx:2: 3 fields: must be 'ROWS COLUMNS'",
        ),
        (
            "%%MatrixMarket matrix array real general\n1 2\n1 2\n",
            "f.mtx:3: 2 fields: must be 'VALUE'",
        ),
        (
            "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\ninf\n",
            "f.mtx:6: inf: must be finite in float64",
        ),
        (
            "%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n",
            "f.mtx:2: 2 x 3: a symmetric matrix must be square",
        ),
        (
            "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 4\n1 2 4\n",
            "f.mtx:4: entry (2, 1) is in both triangles, as in line 3: a symmetric matrix must "
            "have one of them",
        ),
        (
            "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 4\n",
            "f.mtx:3: entry (2, 2): a skew-symmetric matrix must have none on its diagonal",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 2 4\n",
            "f.mtx:3: 3 fields: must be 'ROW COLUMN'",
        ),
        (
            "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n",
            "f.mtx:3: 1.5: must be a whole number, as integer says",
        ),
        (HEADER + "0 -3 0\n", "f.mtx:2: 0 x -3: must not be negative"),
        (HEADER + "0 3 1\n1 1 1\n", "f.mtx:3: entry (1, 1): row must be 1 to 0, column 1 to 3"),
        (HEADER + "2 3 -1\n", "f.mtx:2: -1 entries: must not be negative"),
        (HEADER + "2 3 1\n3 3 1\n", "f.mtx:3: entry (3, 3): row must be 1 to 2, column 1 to 3"),
        (HEADER + "2 3 1\n1_0 1 1\n", "f.mtx:3: '1_0' is not a whole number"),
        (HEADER + "2 3 1\n1 1 1_0\n", "f.mtx:3: '1_0' is not a number"),
        (HEADER + "2 3 1\n1 1 1\0\n", "f.mtx:3: '1\\x00' is not a number"),
        (
            HEADER + "2 3 3\n2 3 1e308\n1 1 1\n2 3 1e308\n",
            "f.mtx: the sum of entry (2, 3) in line 3 and others = inf: must be finite in float64",
        ),
        (HEADER + "1 1 1\n1 1 5%\n", "f.mtx:3: '5%' is not a number"),
        (HEADER + "1 1 1\n1 1 1dd2\n", "f.mtx:3: '1dd2' is not a number"),
    ],
)
def test_matrix_market_refusals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, error: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.mtx").write_text(text)
    with refused(error):
        load_tensor("f.mtx")


# NumPy and SciPy


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("compressed", [False, True])
def test_npz_of_scipy(tmp_path: Path, format: str, make: Any, compressed: bool) -> None:
    scipy.sparse.save_npz(tmp_path / "m.npz", make(DENSE).asformat(format), compressed)
    assert np.array_equal(load_tensor(tmp_path / "m.npz").to_dense(), DENSE)


def test_npy(tmp_path: Path) -> None:
    dense = np.arange(24).reshape(2, 3, 4) % 3
    np.save(tmp_path / "t.npy", dense)
    assert same(load_tensor(tmp_path / "t.npy"), Tensor.from_any(dense))
    np.save(tmp_path / "t.npy", np.asfortranarray(dense))
    assert same(load_tensor(tmp_path / "t.npy"), Tensor.from_any(dense))
    np.save(tmp_path / "t.npy", np.zeros((2, 0, 4)))
    assert load_tensor(tmp_path / "t.npy").shape == (2, 0, 4)


def test_programs_are_distinguished_from_tensors(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")
    with refused(f"{path}: a compiled program: must be a sparse matrix of SciPy"):
        load_tensor(path)
    np.savez(path, a=np.ones(3))
    assert load_tensor(path).to_dense().tolist() == [1, 1, 1]


def test_arrays_that_are_no_tensors(tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    np.save(path, np.array([None]), allow_pickle=True)
    with refused(
        f"{path}: not a .npy file, or damaged: header \"{{'descr': '|O', 'fortran_order': False, "
        "'shape': (1,), }\": must be that of plain numbers"
    ):
        load_tensor(path)
    np.save(path, np.array([1.0, np.nan]))
    with refused(f"{path}: entry 1: the value at (1,) = nan: must be finite in float64"):
        load_tensor(path)
    path.write_bytes(b"")
    with refused(f"{path}: not a .npy file, or damaged: not an array of NumPy"):
        load_tensor(path)


def test_a_sparse_matrix_with_an_element_twice(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    matrix = scipy.sparse.coo_array(([1, 2], ([1, 1], [0, 0])), (2, 2))
    scipy.sparse.save_npz(path, matrix)
    with pytest.warns(InputWarning, match="entry 1 at .1, 0. is added to entry 0 at .1, 0.$"):
        assert load_tensor(path).to_dense().tolist() == [[0, 0], [3, 0]]


@given(st.data())
def test_damaged_npz_is_refused_or_read(tmp_path_factory: Any, data: st.DataObject) -> None:
    octets = io.BytesIO()
    scipy.sparse.save_npz(octets, scipy.sparse.csr_array(DENSE))
    damaged = bytearray(octets.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    try:
        load_tensor(path)
    except WorkloadError as error:
        assert str(error).startswith(f"{path}: ")
        assert "\n" not in str(error)


# All of them


def test_tns_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "f.tns"
    path.write_bytes(b"1 1 \xff\n")
    with refused(f"{path}:1: not valid UTF-8: only comments may be in another encoding"):
        load_tensor(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for suffix in (".mtx", ".tns", ".npz", ".npy"):
        path = tmp_path / f"none{suffix}"
        with refused(f"{path}: No such file or directory"):
            load_tensor(path)


def test_suffixes_that_mean_nothing(tmp_path: Path) -> None:
    with refused(
        f"{tmp_path}/b.txt: suffix '.txt': a tensor must be .mtx, .ttx, .tns, .npz, .npy, a "
        "fibertree folder or folder/tensor_NAME"
    ):
        load_tensor(tmp_path / "b.txt")
    with refused(f"{tmp_path}/b.npy: suffix '.npy': must be .tns, .mtx or .npz"):
        save_tensor(tmp_path / "b.npy", Tensor.from_any(1))


@pytest.mark.parametrize("suffix", [".mtx", ".npz", ".tns"])
@given(tensor=random_tensors(min_dims=2, max_dims=2))
def test_matrices_round_trip(tmp_path_factory: Any, suffix: str, tensor: Tensor) -> None:
    path = tmp_path_factory.getbasetemp() / f"round{suffix}"
    save_tensor(path, tensor)
    assert same(load_tensor(path), tensor)


@pytest.mark.parametrize("suffix", [".mtx", ".npz", ".tns"])
@pytest.mark.parametrize("type", [np.float32, ml_dtypes.bfloat16])
def test_values_of_narrow_types_are_written_exactly(
    tmp_path: Path, suffix: str, type: np.dtype
) -> None:
    tensor = Tensor((1, 2), np.array([[0, 0], [0, 1]]), np.array([0.1, 3.0], type))
    save_tensor(tmp_path / f"m{suffix}", tensor)
    assert load_tensor(tmp_path / f"m{suffix}").values.tolist() == tensor.values.tolist()


def test_other_orders_round_trip(tmp_path: Path) -> None:
    for shape in ((5,), (2, 3, 4)):
        tensor = Tensor.from_any(np.arange(np.prod(shape)).reshape(shape) % 3)
        save_tensor(tmp_path / "t.npz", tensor)
        assert same(load_tensor(tmp_path / "t.npz"), tensor)
        with refused(f"{tmp_path}/t.mtx: a tensor of order {len(shape)}: .mtx holds matrices only"):
            save_tensor(tmp_path / "t.mtx", tensor)
    save_tensor(tmp_path / "t.tns", Tensor.from_any(0.5))
    assert load_tensor(tmp_path / "t.tns").to_dense() == 0.5
    with refused(f"{tmp_path}/t.npz: SciPy has no sparse scalars: save it as .tns"):
        save_tensor(tmp_path / "t.npz", Tensor.from_any(0.5))


def test_scipy_reads_what_is_written(tmp_path: Path) -> None:
    for suffix, read in ((".mtx", scipy.io.mmread), (".npz", scipy.sparse.load_npz)):
        save_tensor(tmp_path / f"m{suffix}", Tensor.from_any(DENSE))
        assert np.array_equal(read(tmp_path / f"m{suffix}").toarray(), DENSE)


@pytest.mark.parametrize("suffix", [".mtx", ".npz", ".tns"])
def test_an_older_file_stays_if_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"m{suffix}"
    save_tensor(path, Tensor.from_any(DENSE))
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="^disk full$"):
        save_tensor(path, Tensor.from_any(SQUARE))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]

"""Sparse matrices in archives: what ``scipy.sparse.save_npz`` writes, and what is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import load_tensor
from tests.support.errors import refused
from tests.support.tensors import same

DENSE = np.array([[0, 1.5, 0, 0], [0, 0, 0, 2]])


def parts(format: str) -> dict[str, Any]:
    """What SciPy writes for ``DENSE``, whose blocks have one row and two columns."""
    matrix = scipy.sparse.csr_array(DENSE)
    matrix = matrix.tobsr((1, 2)) if format == "bsr" else matrix.asformat(format)
    names = {
        "coo": ("row", "col"),
        "dia": ("offsets",),
    }.get(format, ("indices", "indptr"))
    arrays = {name: getattr(matrix, name) for name in ("data", *names)}
    return {"format": format.encode(), "shape": matrix.shape, **arrays}


CHANGES: list[tuple[str, dict[str, Any], str]] = [
    # Two rows with two entries, at columns 1 and 3.
    (
        "csr",
        {"indptr": [0, 100000000, 0]},
        "indptr[1] = 100000000: must be from 0 to 2, the number of indices",
    ),
    ("csr", {"indptr": [0, -9, 0]}, "indptr[1] = -9: must be from 0 to 2, the number of indices"),
    ("csr", {"indptr": [0, 2, 0]}, "indptr[2] = 0: must be at least 2, as the one before"),
    ("csr", {"indptr": [0, 1, 1]}, "indptr[2] = 1: must be 2, the number of indices"),
    ("csr", {"indptr": [1, 1, 2]}, "indptr[0] = 1: must be 0"),
    ("csr", {"indptr": [0, 2]}, "indptr: has 2 numbers: must have 3"),
    ("csr", {"indptr": []}, "indptr: is float64: must be whole numbers"),
    ("csr", {"indptr": np.zeros(0, int)}, "indptr: has 0 numbers: must have 3"),
    ("csr", {"indptr": [[0, 1, 2]]}, "indptr: has shape [1, 3]: must be [any]"),
    ("csr", {"indptr": [0.0, 1, 2]}, "indptr: is float64: must be whole numbers"),
    ("csr", {"indptr": [True, True, True]}, "indptr: is bool: must be whole numbers"),
    (
        "csr",
        {"indptr": np.array([0, 2**64 - 1, 2], np.uint64)},
        f"indptr[1] = {2**64 - 1}: must be from 0 to 2, the number of indices",
    ),
    ("csr", {"indices": [1, 4]}, "indices[1] = 4: must be from 0 to 3"),
    ("csr", {"indices": [-1, 3]}, "indices[0] = -1: must be from 0 to 3"),
    (
        "csr",
        {"indices": np.array([1, 2**63], np.uint64)},
        f"indices[1] = {2**63}: must be from 0 to 3",
    ),
    ("csr", {"data": [1.0]}, "data: has shape [1]: must be [2]"),
    ("csr", {"data": [[1.0], [2.0]]}, "data: has shape [2, 1]: must be [2]"),
    ("csr", {"data": [1j, 1j]}, "values are complex128: must be real numbers"),
    ("csr", {"data": ["a", "b"]}, "values are <U1: must be real numbers"),
    ("csr", {"shape": [2]}, "indptr: has 3 numbers: must have 2"),
    ("csr", {"shape": [2, 4, 1]}, "shape [2, 4, 1]: must be of a matrix, in format csr"),
    ("csr", {"shape": [-2, 4]}, "shape [-2, 4]: sizes must be from 0 to 9223372036854775807"),
    ("csr", {"shape": [10**18, 4]}, "indptr: has 3 numbers: must have 1000000000000000001"),
    ("csr", {"shape": [2.0, 4.0]}, "shape: is float64 [2]: must be whole numbers, at most 64"),
    ("csr", {"shape": 2}, "shape: is int64 []: must be whole numbers, at most 64"),
    ("csr", {"shape": [1] * 65}, "shape: is int64 [65]: must be whole numbers, at most 64"),
    ("csr", {"format": b"lil"}, "format 'lil': must be one of csr, csc, bsr, dia, coo"),
    ("csr", {"format": 3}, "format 3: must be one of csr, csc, bsr, dia, coo"),
    ("csr", {"format": [b"csr"]}, "format None: must be one of csr, csc, bsr, dia, coo"),
    ("csr", {"indptr": None}, "indptr: is missing"),
    ("csr", {"shape": None}, "shape: is missing"),
    (
        "csr",
        {"more": [1]},
        "'more': format csr has format, shape, data, indices, indptr, _is_array",
    ),
    (
        "csc",
        {"indptr": [0, 9, 1, 2, 2]},
        "indptr[1] = 9: must be from 0 to 2, the number of indices",
    ),
    ("csc", {"indptr": [0, 1, 2]}, "indptr: has 3 numbers: must have 5"),
    ("csc", {"indices": [0, 2]}, "indices[1] = 2: must be from 0 to 1"),
    ("bsr", {"indptr": [0, 2, 0]}, "indptr[2] = 0: must be at least 2, as the one before"),
    ("bsr", {"indices": [0, 2]}, "indices[1] = 2: must be from 0 to 1"),
    ("bsr", {"data": np.ones((2, 1, 3))}, "shape[1] = 4: must be a multiple of 3, as blocks"),
    ("bsr", {"data": np.ones((2, 0, 2))}, "data: has shape [2, 0, 2]: must be blocks of a matrix"),
    ("bsr", {"data": np.ones(2)}, "data: has shape [2]: must be blocks of a matrix"),
    ("bsr", {"data": np.ones((3, 1, 2))}, "data: has shape [3, 1, 2]: must be [2, any, any]"),
    ("coo", {"row": [0, 2]}, "row[1] = 2: must be from 0 to 1"),
    ("coo", {"col": [-1, 3]}, "col[0] = -1: must be from 0 to 3"),
    ("coo", {"row": [0]}, "col: has shape [2]: must be [1]"),
    ("coo", {"row": [0.0, 1.0]}, "row: is float64: must be whole numbers"),
    ("coo", {"shape": [2, 4, 1]}, "shape [2, 4, 1]: must be of 2 dimensions, as entries"),
    (
        "coo",
        {"coords": [[0, 2], [1, 3]], "row": None, "col": None},
        "coords[0][1] = 2: must be from 0 to 1",
    ),
    (
        "coo",
        {"coords": [0, 1], "row": None, "col": None},
        "coords: has shape [2]: must be [any, any]",
    ),
    ("coo", {"coords": [[0], [1]]}, "'row': format coo has format, shape, data, coords, _is_array"),
    ("dia", {"offsets": [1]}, "data: has shape [2, 4]: must be [1, any]"),
]


@pytest.mark.parametrize(("format", "changes", "text"), CHANGES)
def test_parts_that_do_not_fit(
    tmp_path: Path, format: str, changes: dict[str, Any], text: str
) -> None:
    path = tmp_path / "m.npz"
    arrays = {**parts(format), **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with refused(f"{path}: {text}"):
        load_tensor(path)


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "dia"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 3)])
def test_matrices_without_entries(tmp_path: Path, format: str, shape: tuple[int, int]) -> None:
    scipy.sparse.save_npz(tmp_path / "m.npz", scipy.sparse.coo_array(shape).asformat(format))
    tensor = load_tensor(tmp_path / "m.npz")
    assert (tensor.shape, tensor.nnz) == (shape, 0)


@given(st.data())
def test_scipys_matrices(tmp_path_factory: Any, data: st.DataObject) -> None:
    rows, columns = (data.draw(st.integers(1, 6)) for _ in "ij")
    elements = st.lists(st.integers(-2, 2), min_size=rows * columns, max_size=rows * columns)
    dense = np.array(data.draw(elements)).reshape(rows, columns)
    format = data.draw(st.sampled_from(["csr", "csc", "bsr", "coo", "dia"]))
    path = tmp_path_factory.getbasetemp() / "scipys.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(dense).asformat(format))
    assert np.array_equal(load_tensor(path).to_dense(), dense)


def test_vectors(tmp_path: Path) -> None:
    for format in ("csr", "coo"):
        vector = scipy.sparse.coo_array(DENSE[0]).asformat(format)
        scipy.sparse.save_npz(tmp_path / "v.npz", vector)
        assert same(load_tensor(tmp_path / "v.npz"), Tensor.from_any(DENSE[0]))
        assert same(Tensor.from_any(vector), Tensor.from_any(DENSE[0]))


def test_members_that_are_not_read_are_not_expanded(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(DENSE))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("note.txt", "text")
    with refused(
        f"{path}: 'note.txt': format csr has format, shape, data, indices, indptr, _is_array"
    ):
        load_tensor(path)


def with_pointers(format: str, pointers: list[int]) -> Any:
    matrix = scipy.sparse.csr_array(DENSE)
    matrix = matrix.tobsr((1, 2)) if format == "bsr" else matrix.asformat(format)
    matrix.indptr = np.array(pointers, np.int32)
    return matrix


@pytest.mark.parametrize("format", ["csr", "bsr"])
@pytest.mark.parametrize("pointers", [[0, 100000000, 0], [0, -9, 0], [0, 2, 0], [0, 2], []])
def test_matrices_in_memory_whose_pointers_were_changed(format: str, pointers: list[int]) -> None:
    with pytest.raises(WorkloadError, match="^indptr"):
        Tensor.from_any(with_pointers(format, pointers))


def test_lists_in_memory_that_were_changed() -> None:
    matrix = scipy.sparse.lil_array(DENSE)
    matrix.data[0] = [1.0] * 1000
    with refused("data: has shape [1001]: must be [2]"):
        Tensor.from_any(matrix)
    matrix.rows[1] = [10**9] * 1000
    with refused("col[1] = 1000000000: must be from 0 to 3"):
        Tensor.from_any(matrix)

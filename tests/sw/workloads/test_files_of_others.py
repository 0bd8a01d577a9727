"""Files as other programs write them: encodings, compression, dialects, and entries given twice."""

from __future__ import annotations

import bz2
import gzip
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads import compressed_file
from gnarl.sw.workloads.dag.load import load
from gnarl.sw.workloads.dag.psdd import read_psdd
from gnarl.sw.workloads.refusals import InputWarning
from gnarl.sw.workloads.tensor.operands import load_operands
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import load_tensor, save_tensor
from tests.support.errors import refused
from tests.support.tensors import random_tensors, same

MATRIX = "%%MatrixMarket matrix coordinate real general\n"
TTX = "%%MatrixMarket tensor coordinate real general\n"


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Writes a file of that name and returns its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


# Tensors


@pytest.mark.parametrize(
    ("name", "content", "dense"),
    [
        ("double.mtx", MATRIX.replace("real", "double") + "2 2 1\n1 2 2.5\n", [[0, 2.5], [0, 0]]),
        (
            "integer.mtx",
            MATRIX.replace("real", "integer") + "2 2 2\n1 1 1.0\n2 2 1e2\n",
            [[1, 0], [0, 100]],
        ),
        (
            "one_percent.mtx",
            "%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n",
            [[0, 1, 1], [1, 0, 0], [1, 0, 0]],
        ),
        ("fortran.mtx", MATRIX + "1 2 2\n1 1 2.5D+01\n1 2 -1d-1\n", [[25, -0.1]]),
        ("fortran_comments.mtx", MATRIX + "1 2 2\n1 1 2.5D+01\n% c\n1 2 3 % x\n", [[25, 3]]),
        (
            "latin.mtx",
            MATRIX.encode() + b"% author: M\xfcller\n2 2 1\n1 1 1\n",
            [[1, 0], [0, 0]],
        ),
        ("small.ttx", TTX + "2 3 2\n1 1 1.5\n2 3 2\n", [[1.5, 0, 0], [0, 0, 2]]),
        ("pattern.ttx", TTX.replace("real", "pattern") + "1 2 1 1\n1 2 1\n", [[[0], [1]]]),
        ("scalar.ttx", TTX + "1\n7\n", 7),
        ("none.ttx", TTX + "2 1 0\n", [[0], [0]]),
        ("order.tns", "2\n2 3\n1 1 1.5\n2 3 2\n", [[1.5, 0, 0], [0, 0, 2]]),
        ("mlir.tns", "# extended FROSTT\n2 2\n2 3\n1 1 1.5\n2 3 2\n", [[1.5, 0, 0], [0, 0, 2]]),
        ("mlir_unsaid.tns", "3 1\n1 2 2\n1 2 1 5\n", [[[0, 0], [5, 0]]]),
        ("mlir_empty.tns", "# extended FROSTT format\n2 0\n1 2\n", [[0, 0]]),
        ("vector.tns", "1\n3\n2 7\n", [0, 7, 0]),
        ("plain_of_two.tns", "2 0\n3 4\n", [0, 0, 4]),
        ("plain_three.tns", "1 1 5\n2 2 6\n", [[5, 0], [0, 6]]),
        ("behind.tns", "1 1 1.5 # first\n2 3 2\n", [[1.5, 0, 0], [0, 0, 2]]),
        ("behind_latin.tns", b"1 1 1.5 # \xe9\n", [[1.5]]),
    ],
)
def test_tensors(
    file: Callable[[str, str | bytes], Path], name: str, content: str | bytes, dense: Any
) -> None:
    tensor = load_tensor(file(name, content))
    assert tensor.to_dense().tolist() == dense


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("a.ttx", MATRIX, ":1: the first line must be '%%MatrixMarket tensor coordinate real"),
        ("a.ttx", TTX.replace("general", "symmetric"), ":1: symmetry 'symmetric': must be general"),
        ("a.ttx", TTX + "% c\n", ": the file ends before the line 'SIZES ENTRIES'"),
        ("a.ttx", TTX + "2 -1 1\n", ":2: -1: must not be negative"),
        ("a.ttx", TTX + "2 2 2\n1 1 1\n", ": 1 entries: must be 2, as in line 2"),
        ("a.ttx", TTX + "2 2 1\n1 3 1\n", ":3: entry (1, 3): indices must be from 1 to 2, 2"),
        ("a.ttx", TTX + "2 2 1\n1 1\n", ":3: 2 fields: must be 'INDEX' 'INDEX' 'VALUE'"),
        (
            "a.ttx",
            TTX.replace("real", "integer") + "1 1\n1 .5\n",
            ":3: 0.5: must be a whole",
        ),
        ("a.tns", "2 3\n2 3\n1 1 1.5\n2 3 2\n", ": 2 entries: must be 3, as it begins"),
        ("a.tns", "2\n2 3\n1 4 1.5\n", ":3: entry (1, 4): index 2 must be at most 3, the size in"),
        ("a.tns", "# shape 4 4\n2\n2 3\n1 1 1.5\n", ":3: another shape than in "),
        ("a.tns", "1 1 1.5#\n", ":1: '1.5#' is not a number"),
        ("a.tns", b"1 1 \xe9\n", ":1: not valid UTF-8: only comments may be in another encoding"),
        (
            "a.mtx",
            MATRIX.replace("general", "skew-symmetric") + "2 2 2\n2 1 4\n1 2 -4\n",
            ":4: entry (2, 1) is in both triangles, as in line 3: a skew-symmetric matrix must",
        ),
    ],
)
def test_tensors_that_are_wrong(
    file: Callable[[str, str | bytes], Path], name: str, content: str | bytes, error: str
) -> None:
    path = file(name, content)
    with pytest.raises(WorkloadError) as raised:
        load_tensor(path)
    assert str(raised.value).startswith(f"{path}{error}")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.mtx", MATRIX + "2 2 4\n1 1 1\n2 2 3\n1 1 2\n1 1 4\n"),
        ("a.ttx", TTX + "2 2 4\n1 1 1\n2 2 3\n1 1 2\n1 1 4\n"),
        ("a.tns", "1 1 1\n2 2 3\n1 1 2\n1 1 4\n"),
    ],
)
def test_entries_given_twice_are_added_with_a_warning(
    file: Callable[[str, str | bytes], Path], name: str, content: str
) -> None:
    path = file(name, content)
    first = 2 + content.startswith("%%") * 2
    text = (
        f"{path}: entry (1, 1) in line {first + 1} is added to entry (1, 1) in line {first - 1}, "
        "and 1 more to others"
    )
    with pytest.warns(InputWarning) as caught:
        assert load_tensor(path).to_dense().tolist() == [[7, 0], [0, 3]]
    assert [str(warning.message) for warning in caught] == [text]


@pytest.mark.parametrize("format", ["coo", "csr", "csc", "bsr"])
def test_elements_stored_twice_are_added_as_scipy_does(tmp_path: Path, format: str) -> None:
    two = scipy.sparse.csr_array(([1.0, 2, 3], [0, 0, 1], [0, 2, 3]), (2, 2))
    matrix = {
        "csr": two,
        "csc": two.T,
        "bsr": scipy.sparse.bsr_array((two.data.reshape(-1, 1, 1), two.indices, two.indptr)),
        "coo": scipy.sparse.coo_array(([1.0, 2, 3], ([0, 0, 1], [0, 0, 1])), (2, 2)),
    }[format]
    assert Tensor.from_any(matrix).to_dense().tolist() == [[3, 0], [0, 3]]
    path = tmp_path / "m.npz"
    scipy.sparse.save_npz(path, matrix)
    with pytest.warns(InputWarning, match="is added to entry 0 at .0, 0.$"):
        assert load_tensor(path).to_dense().tolist() == [[3, 0], [0, 3]]


@pytest.mark.parametrize("offset", [-(2**63), -3, -2, -1, 0, 1, 3, 4, 2**63 - 1])
def test_diagonals_outside_of_a_matrix_have_no_entries(tmp_path: Path, offset: int) -> None:
    values = np.arange(1.0, 9).reshape(2, 4)
    path = tmp_path / "m.npz"
    np.savez(
        path,
        format=np.bytes_(b"dia"),
        shape=np.array([2, 4]),
        data=values,
        offsets=np.array([offset, 2]),
    )
    dense = np.zeros((2, 4))
    for diagonal, start in zip(values, (offset, 2), strict=True):
        for column, value in enumerate(diagonal):
            if 0 <= column - start < 2:
                dense[column - start, column] += value
    assert np.array_equal(load_tensor(path).to_dense(), dense)


def test_extended_precision_is_rounded(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    np.save(path, np.array([[1, 0], [0, 3]], np.longdouble) / 3)
    assert np.array_equal(load_tensor(path).to_dense(), np.array([[1, 0], [0, 3]]) / 3)
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        np.save(path, np.array([np.finfo(np.float64).max], np.longdouble) * 2)
        with refused(f"{path}: entry 0: the value at (0,) = inf: must be finite in float64"):
            load_tensor(path)
        np.save(path, np.array([5e-324], np.longdouble) / 4)
        with pytest.raises(WorkloadError, match="must be 0, or at least 5e-324"):
            load_tensor(path)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mtx", ".mtx.gz"])
def test_a_matrix_of_one_column_is_a_vector_where_formats_say_so(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"v{suffix}"
    if suffix == ".npy":
        np.save(path, np.array([[1.0], [0], [2]]))
    else:
        plain = path.with_name(f"v{suffix.removesuffix('.gz')}")
        save_tensor(plain, Tensor.from_any(np.array([[1.0], [0], [2]])))
        if path != plain:
            path.write_bytes(gzip.compress(plain.read_bytes()))
    formats = {"v": TensorFormat(("compressed",), (0,))}
    assert load_operands({"v": str(path)}, formats)["v"].tensor.to_dense().tolist() == [1, 0, 2]
    assert load_operands({"v": str(path)}, {})["v"].tensor.shape == (3, 1)


# Compressed files


@given(random_tensors(min_dims=2, max_dims=2), st.sampled_from([".mtx", ".tns"]))
def test_compressed_texts_are_as_the_plain_ones(
    tmp_path_factory: Any, tensor: Tensor, suffix: str
) -> None:
    plain = tmp_path_factory.mktemp("compressed") / f"t{suffix}"
    save_tensor(plain, tensor)
    for ending, compress in ((".gz", gzip.compress), (".BZ2", bz2.compress)):
        path = plain.with_name(plain.name + ending)
        path.write_bytes(compress(plain.read_bytes()))
        assert same(load_tensor(path), tensor)
        assert compressed_file.suffix_of(path) == suffix
        assert compressed_file.stem_of(path) == "t"


def test_a_compressed_circuit_has_the_name_of_the_plain_one(
    file: Callable[[str, str | bytes], Path],
) -> None:
    workload = load(file("c.psdd.gz", gzip.compress(b"psdd 1\nL 0 0 1\n")))
    assert workload.name == "c"


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_damaged_and_huge_compressed_files_are_refused(
    file: Callable[[str, str | bytes], Path],
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    compress: Callable[[bytes], bytes],
) -> None:
    whole = compress((MATRIX + "1 1 1\n1 1 1\n").encode())
    damaged = f"not a {suffix} file, or damaged: "
    for content in (whole[:-3], b"no such file", b"", whole[:4] + b"\xff" * 8 + whole[12:]):
        path = file(f"a.mtx{suffix}", content)
        with pytest.raises(WorkloadError) as raised:
            load_tensor(path)
        assert str(raised.value).startswith(f"{path}: {damaged}") or not content
    monkeypatch.setattr(compressed_file, "EXPANDED", 2**21)
    path = file(f"a.mtx{suffix}", compress(bytes(2**21 + 1)))
    with refused(
        f"{path}: expands to more than 2,097,152 bytes: must be at most that many, "
        "or not compressed"
    ):
        load_tensor(path)
    with refused(f"{path.parent}/no.mtx{suffix}: No such file or directory"):
        load_tensor(path.parent / f"no.mtx{suffix}")


# Circuits, matrices and graphs of the DPU

CIRCUIT = """psdd 7
L 0 0 1
L 1 0 -1
L 2 2 2
L 3 2 -2
{}
D 5 1 2 0 2 -0.693147 1 4 -0.693147
"""


def test_a_true_with_two_logarithms(file: Callable[[str, str | bytes], Path]) -> None:
    node = f"T 4 2 2 {math.log(0.25)} {math.log(0.75)}"
    path = file("c.psdd", CIRCUIT.format(node))
    one = read_psdd(file("one.psdd", CIRCUIT.format(f"T 4 2 2 {math.log(0.75)}")))
    for evidence in ({}, {1: False, 2: True}, {1: False, 2: False}, {1: True}):
        assert np.array_equal(read_psdd(path, evidence).inputs, one.bind(evidence))


@pytest.mark.parametrize("node", ["F 4", "F 4 2"])
def test_false_is_zero(file: Callable[[str, str | bytes], Path], node: str) -> None:
    circuit = read_psdd(file("c.psdd", CIRCUIT.format(node)))
    values = dict(zip(circuit.input_names.tolist(), circuit.inputs.tolist(), strict=True))
    assert values["F[4]"] == 0
    assert circuit.bind({1: False})[circuit.input_names.tolist().index("F[4]")] == 0


def test_a_circuit_that_is_false_alone(file: Callable[[str, str | bytes], Path]) -> None:
    assert read_psdd(file("c.psdd", b"c \xe9\npsdd 1\nF 0\n")).inputs.tolist() == [0]


def test_a_diagonal_matrix_may_be_symmetric(file: Callable[[str, str | bytes], Path]) -> None:
    text = MATRIX.replace("general", "symmetric") + "2 2 2\n1 1 2\n2 2 4\n"
    symmetric = load(file("d.mtx", text))
    general = load(file("d.mtx", text.replace("symmetric", "general")))
    assert np.array_equal(symmetric.inputs, general.inputs)
    assert symmetric.input_names.tolist() == ["b[1]", "b[2]", "inv[1]", "inv[2]"]


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_triangular_matrices_of_scipy_are_as_their_texts(tmp_path: Path, format: str) -> None:
    random = np.random.default_rng(1)
    dense = np.tril(random.normal(size=(7, 7)) * (random.random((7, 7)) < 0.4)) + np.eye(7)
    scipy.sparse.save_npz(tmp_path / "m.npz", scipy.sparse.coo_array(dense).asformat(format))
    save_tensor(tmp_path / "m.mtx", Tensor.from_any(dense))
    npz, text = load(tmp_path / "m.npz", 5), load(tmp_path / "m.mtx", 5)
    assert np.array_equal(npz.inputs, text.inputs)
    assert npz.input_names.tolist() == text.input_names.tolist()
    assert npz.place(0) == f"{tmp_path / 'm.npz'}: node b[1]"


def test_wrong_matrices_of_scipy_name_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    for dense, error in (
        ([[1.0, 2]], "1 x 2: a triangular matrix must be square"),
        ([[1.0, 0], [1, 0]], "row 2 has no entry on the diagonal: must have one, not zero"),
        (
            [[1.0, 2], [1, 1]],
            "not triangular: entry (2, 1) is below the diagonal, entry (1, 2) above it",
        ),
    ):
        scipy.sparse.save_npz(path, scipy.sparse.coo_array(np.array(dense)))
        with refused(f"{path}: {error}"):
            load(path)


def test_triangular_entries_given_twice_are_added(
    file: Callable[[str, str | bytes], Path],
) -> None:
    path = file("m.mtx", MATRIX + "2 2 4\n1 1 1\n2 1 3\n2 2 1\n2 1 4\n")
    with pytest.warns(InputWarning, match="entry .2, 1. in line 6 is added to .* in line 4$"):
        workload = load(path)
    values = dict(zip(workload.input_names.tolist(), workload.inputs.tolist(), strict=True))
    assert values["L[2,1]"] == 7


GRAPHML = """<?xml version="1.0" encoding="{}"?>
<graphml><!-- réseau --><key id="o" for="node" attr.name="op"/>
<graph edgedefault="directed"><node id="é"><data key="o">input</data></node></graph></graphml>
"""


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-8", "UTF-16", "windows-1252", "koi8-r"])
def test_graphml_is_in_the_encoding_that_it_declares(
    file: Callable[[str, str | bytes], Path], encoding: str
) -> None:
    text = GRAPHML.format(encoding)
    if encoding == "koi8-r":
        text = text.replace("é", "ё")
    workload = load(file("g.graphml", text.encode(encoding)))
    assert workload.input_names.tolist() == ["ё" if encoding == "koi8-r" else "é"]


@pytest.mark.parametrize("encoding", ["latin-42", "utf-7", "shift-jis", "rot13"])
def test_encodings_that_cannot_be_read(
    file: Callable[[str, str | bytes], Path], encoding: str
) -> None:
    path = file("g.graphml", GRAPHML.format(encoding).replace("é", "e"))
    with pytest.raises(WorkloadError) as raised:
        load(path)
    assert str(raised.value).startswith(f"{path}:1: ")


def test_names_are_not_merged_by_an_encoding(file: Callable[[str, str | bytes], Path]) -> None:
    path = file("g.edgelist", b"# \xe9\n\xe8 s\n")
    with refused(f"{path}:2: not valid UTF-8: only comments may be in another encoding"):
        load(path)
    assert load(file("h.edgelist", b"# \xe9\ne\n")).input_names.tolist() == ["e"]


def test_scalars_given_twice_are_added(file: Callable[[str, str | bytes], Path]) -> None:
    with pytest.warns(InputWarning):
        assert load_tensor(file("s.tns", "2\n3\n")).to_dense() == 5


def test_archives_of_scipy_have_the_bytes_that_it_reads(tmp_path: Path) -> None:
    octets = io.BytesIO()
    scipy.sparse.save_npz(octets, scipy.sparse.csr_array([[1.0, 0], [0, 2]]))
    (tmp_path / "m.npz").write_bytes(octets.getvalue())
    assert load(tmp_path / "m.npz").name == "m"


@pytest.mark.parametrize("digits", [65_000, 1_000_000])
def test_a_long_number_is_refused_at_once(
    file: Callable[[str, str | bytes], Path], digits: int
) -> None:
    path = file("m.mtx", MATRIX + f"1 1 2\n1 {'2' * digits} 1\n1 1 1\n")
    with pytest.raises(WorkloadError, match="m.mtx:3: "):
        load_tensor(path)

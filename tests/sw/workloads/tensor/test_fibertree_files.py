"""Fibertree folders, made here and by the SAM tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.workloads.tensor.fibertree_files import load_fibertree, save_fibertree, tensors_in
from gnarl.sw.workloads.tensor.storage import LEVEL_FORMATS, TensorFormat, store
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import load_tensor
from tests.support.errors import refused
from tests.support.workloads import workload_file

# Rows 0 and 2 of a 4 x 3 matrix, doubly compressed, by rows and by columns.
BY_ROWS = {
    "0_seg": "0 2",
    "0_crd": "0 2",
    "1_seg": "0 2 3",
    "1_crd": "0 2 1",
    "shape": "4 3",
    "vals": "1.5 2 -3e0",
}
BY_COLUMNS = {
    "0_seg": "0 1 2 3",
    "0_crd": "0 2 0",
    "1_seg": "0 3",
    "1_crd": "0 1 2",
    "shape": "4 3",
    "vals": "1.5 -3 2",
}
MATRIX = np.array([[1.5, 0, 2], [0, 0, 0], [0, -3, 0], [0, 0, 0]])


def write(folder: Path, files: dict[str, str | None], name: str = "B") -> Path:
    """A folder with these files, a line for each word; None leaves a file out."""
    for part, words in files.items():
        if words is not None:
            (folder / f"tensor_{name}_mode_{part}").write_text("\n".join(words.split(" ")))
    return folder


def of(letters: str, modes: tuple[int, ...] | None = None) -> TensorFormat:
    return TensorFormat(
        tuple(LEVEL_FORMATS[letter] for letter in letters), modes or tuple(range(len(letters)))
    )


@pytest.mark.parametrize("files", [BY_ROWS, BY_COLUMNS], ids=["rows", "columns"])
def test_the_order_of_modes_follows_from_the_files(
    tmp_path: Path, files: dict[str, str | None]
) -> None:
    tensor = load_fibertree(write(tmp_path, files), "B")
    assert tensor.shape == (4, 3)
    assert np.array_equal(tensor.to_dense(), MATRIX)


def test_files_are_written_as_they_are_read(tmp_path: Path) -> None:
    for folder, modes, files in (("r", (0, 1), BY_ROWS), ("c", (1, 0), BY_COLUMNS)):
        save_fibertree(tmp_path / folder, "B", store(Tensor.from_any(MATRIX), of("ss", modes)))
        written = {
            file.name.removeprefix("tensor_B_mode_"): file.read_text()
            for file in (tmp_path / folder).iterdir()
        }
        numbers = {part: [float(word) for word in text.split()] for part, text in written.items()}
        assert numbers == {part: [float(word) for word in w.split()] for part, w in files.items()}
        assert written["vals"] == "\n".join(str(float(word)) for word in files["vals"].split())


def test_paths_of_folders(tmp_path: Path) -> None:
    write(tmp_path, BY_ROWS)
    for tensor in (
        load_tensor(tmp_path, name="B"),
        load_tensor(tmp_path / "tensor_B"),
        load_tensor(tmp_path),
    ):
        assert np.array_equal(tensor.to_dense(), MATRIX)
    write(tmp_path, BY_ROWS, name="C")
    assert tensors_in(tmp_path) == ["B", "C"]
    with refused(f"{tmp_path}: tensors B, C: one must be named, as in {tmp_path}/tensor_B"):
        load_tensor(tmp_path)
    with refused(f"{tmp_path}: no file tensor_D_mode_vals: there are B, C"):
        load_tensor(tmp_path / "tensor_D")
    (tmp_path / "empty").mkdir()
    with refused(f"{tmp_path}/empty: no file tensor_NAME_mode_vals: not a fibertree folder"):
        load_tensor(tmp_path / "empty")
    with refused(f"{tmp_path}/empty: no file tensor_B_mode_vals: the folder has no tensors"):
        load_tensor(tmp_path / "empty", name="B")


def test_quirks_of_existing_files(tmp_path: Path) -> None:
    vector: dict[str, str | None] = {"0_seg": "0 3", "0_crd": "1 6", "shape": "2", "vals": "5 6"}
    tensor = load_fibertree(write(tmp_path, vector), "B")
    assert tensor.shape == (7,)
    assert tensor.coordinates.tolist() == [[1], [6]]
    assert tensor.values.tolist() == [5, 6]
    (tmp_path / "tensor_B_mode_vals").write_text("5\n6\n")  # a newline at the end
    assert load_fibertree(tmp_path, "B").nnz == 2


@pytest.mark.parametrize("segments", ["0", "0 0", "0 1"])
def test_empty_tensors_however_they_were_written(tmp_path: Path, segments: str) -> None:
    files: dict[str, str | None] = {
        "0_seg": segments, "0_crd": "", "1_seg": "0", "1_crd": "", "shape": "4 3", "vals": "",
    }  # fmt: skip
    tensor = load_fibertree(write(tmp_path, files), "B")
    assert (tensor.shape, tensor.nnz) == ((4, 3), 0)


def test_scalars(tmp_path: Path) -> None:
    save_fibertree(tmp_path, "b", store(Tensor.from_any(2.5), of("")))
    assert load_fibertree(tmp_path, "b").to_dense() == 2.5
    (tmp_path / "tensor_b_mode_shape").unlink()
    assert load_fibertree(tmp_path, "b").to_dense() == 2.5
    (tmp_path / "tensor_b_mode_vals").write_text("1\n2")
    with refused(f"{tmp_path}/tensor_b_mode_vals: 2 values: must be 1"):
        load_fibertree(tmp_path, "b")


def test_a_new_tensor_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    save_fibertree(tmp_path, "B", store(Tensor.from_any(MATRIX), of("ss")))
    save_fibertree(tmp_path, "B", store(Tensor.from_any(2 * MATRIX), of("dd")))
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "tensor_B_mode_shape",
        "tensor_B_mode_vals",
    ]
    assert np.array_equal(load_fibertree(tmp_path, "B").to_dense(), 2 * MATRIX)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with refused(
        "tensor B: level 1 is a bitvector: fibertree files hold only dense and compressed levels"
    ):
        save_fibertree(tmp_path / "f", "B", store(Tensor.from_any(MATRIX), of("sb")))
    assert not (tmp_path / "f").exists()
    with refused("tensor name '../B': must be letters, digits and underscores"):
        save_fibertree(tmp_path, "../B", store(Tensor.from_any(MATRIX), of("ss")))


@st.composite
def stored(draw: Any) -> tuple[Tensor, TensorFormat]:
    order = draw(st.integers(0, 4))
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=order, max_size=order)))
    density = draw(st.sampled_from([0, 0.1, 0.5, 1]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dense = np.where(random.random(shape) < density, random.normal(size=shape), 0.0)
    letters = "".join(draw(st.lists(st.sampled_from("ds"), min_size=order, max_size=order)))
    return Tensor.from_any(dense), of(letters, tuple(draw(st.permutations(range(order)))))


@given(stored())
def test_round_trips(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Tensor, TensorFormat]
) -> None:
    tensor, format = case
    folder = tmp_path_factory.getbasetemp() / "round"
    save_fibertree(folder, "B", store(tensor, format))
    loaded = load_fibertree(folder, "B", modes=format.modes)
    assert loaded.shape == tensor.shape
    assert np.array_equal(loaded.to_dense(), tensor.to_dense())
    if "dense" not in format.levels:
        assert np.array_equal(load_fibertree(folder, "B").to_dense(), tensor.to_dense())


def test_files_that_fit_two_orders_with_different_tensors(tmp_path: Path) -> None:
    # Below a dense level of two fibers, one of them empty, each of two levels may come first.
    files: dict[str, str | None] = {
        "1_seg": "0 0 2", "1_crd": "0 1", "2_seg": "0 1 2", "2_crd": "1 0",
        "shape": "2 2 2", "vals": "5 6",
    }  # fmt: skip
    write(tmp_path, files)
    with refused(
        f"{tmp_path}: tensor B: its files fit modes in the orders (0, 1, 2) and (0, 2, 1), which "
        "mean different tensors: the order of modes must be given"
    ):
        load_fibertree(tmp_path, "B")
    one = load_fibertree(tmp_path, "B", modes=(0, 1, 2))
    assert one.coordinates.tolist() == [[1, 0, 1], [1, 1, 0]]
    other = load_fibertree(tmp_path, "B", modes=(0, 2, 1))
    assert other.coordinates.tolist() == [[1, 0, 0], [1, 1, 0]]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"vals": "1 2"}, "vals: 2 values: must be 3"),
        ({"vals": "1 2 nan"}, "vals:3: nan: must be finite in float64"),
        ({"vals": "1 2 1_0"}, "vals:3: '1_0' is not a number"),
        ({"vals": "1 0x2 3"}, "vals:2: '0x2' is not a number"),
        ({"vals": "1 2\0 3"}, "vals:2: '2\\x00' is not a number"),
        ({"vals": "1  2"}, "vals:2: '' is not a number"),
        ({"0_seg": None}, "0_seg: No such file or directory"),
        ({"1_crd": None}, "1_crd: No such file or directory"),
        ({"shape": None}, "shape: No such file or directory"),
        ({"shape": "4"}, "1_seg: tensor_B_mode_shape has only 1 dimensions"),
        ({"shape": "4 -1"}, "shape:2: size -1: must not be negative"),
        ({"shape": "4 3.0"}, "shape:2: '3.0' is not a whole number"),
        ({"shape": " ".join("1" * 11)}, "shape: 11 dimensions: must be at most 10"),
        ({"0_seg": ""}, "0_seg: the file is empty: must have at least one line"),
        ({"0_seg": "1 2"}, "0_seg:1: the segment is 1: must be 0"),
        ({"1_seg": "0 4 3"}, "1_seg:3: the segment is 3, below 4 before it: must not descend"),
        (
            {"1_seg": "0 2 5"},
            "1_seg:3: the segment is 5: must be 3, the number of coordinates",
        ),
        (
            {"1_seg": "0 1 2"},
            "1_seg:3: the segment is 2: must be 3, the number of coordinates",
        ),
        ({"0_crd": "0 -2"}, "0_crd:2: the coordinate is -2: must be 0 to 3"),
        (
            {"0_crd": f"0 {2**63 - 1}"},
            f"0_crd:2: the coordinate is {2**63 - 1}: must be less",
        ),
        ({"0_crd": "0 x"}, "0_crd:2: 'x' is not a whole number"),
        (
            {"1_crd": "2 0 1"},
            "1_crd:2: the coordinate is 0 after 2 in the same fiber: must ascend",
        ),
        (
            {"1_crd": "2 2 1"},
            "1_crd:2: the coordinate is 2 after 2 in the same fiber: must ascend",
        ),
    ],
)
def test_damage_is_named(tmp_path: Path, changes: dict[str, str | None], error: str) -> None:
    write(tmp_path, {**BY_ROWS, **changes})
    with refused(f"{tmp_path}/tensor_B_mode_{error}"):
        load_fibertree(tmp_path, "B")


def test_levels_that_do_not_fit_together(tmp_path: Path) -> None:
    write(tmp_path, {**BY_ROWS, "1_seg": "0 1 2 3"})
    sizes = (
        "mode 0 has 1 fibers with 2 coordinates, mode 1 has 3 fibers with 3 coordinates; the "
        "outermost level must have one fiber, each further one a fiber for each position of the "
        "level above"
    )
    with refused(f"{tmp_path}: tensor B: no order of its modes fits: {sizes}"):
        load_fibertree(tmp_path, "B")
    with refused(f"{tmp_path}: tensor B: modes (1, 0) misfit: {sizes}"):
        load_fibertree(tmp_path, "B", modes=(1, 0))
    with refused(f"{tmp_path}: tensor B: modes (1, 2): must be a permutation of (0, 1)"):
        load_fibertree(tmp_path, "B", modes=(1, 2))


# The data of the SAM tools: what its operands are stands in the project's design notes.

DATA_SETS = {"bcsstm02": ((66, 66), 66), "lp_scsd1": ((77, 760), 2388)}


def shift(matrix: np.ndarray) -> np.ndarray:
    """Columns one to the right, cyclic, every nonzero replaced by 2."""
    return np.where(np.roll(matrix, 1, axis=1) != 0, 2.0, 0.0)


OPERANDS: dict[tuple[str, str], Any] = {
    ("mat_elemadd", "B"): lambda base: base,
    ("mat_elemadd", "C"): shift,
    ("mat_elemadd3", "B"): lambda base: base,
    ("mat_elemadd3", "C"): shift,
    ("mat_elemadd3", "D"): lambda base: shift(shift(base)),
    ("mat_elemmul", "B"): lambda base: base,
    ("mat_elemmul", "C"): shift,
    ("mat_mattransmul", "C"): lambda base: base,
    ("mat_residual", "C"): lambda base: base,
    ("mat_sddmm", "B"): lambda base: base,
    ("mat_vecmul", "B"): lambda base: base,
    ("matmul_ijk", "B"): lambda base: base,
    ("matmul_ijk", "C"): lambda base: shift(base).T,
    ("matmul_ikj", "B"): lambda base: base,
    ("matmul_ikj", "C"): lambda base: shift(base).T,
    ("matmul_kij", "B"): lambda base: base,
    ("matmul_kij", "C"): lambda base: shift(base).T,
}
BY_COLUMN = {
    ("matmul_kij", "B"),
    ("matmul_ijk", "C"),
    ("mat_vecmul", "B"),
    ("mat_mattransmul", "C"),
}


@pytest.mark.parametrize("data", DATA_SETS)
@pytest.mark.parametrize(("kernel", "name"), OPERANDS, ids="-".join)
def test_real_matrices(data: str, kernel: str, name: str) -> None:
    base = load_tensor(workload_file(f"sam/{data}.mtx"))
    assert (base.shape, base.nnz) == DATA_SETS[data]
    folder = workload_file(f"sam/{data}/{kernel}/tensor_{name}_mode_vals").parent
    tensor = load_tensor(folder, name)
    assert np.array_equal(tensor.to_dense(), OPERANDS[kernel, name](base.to_dense()))


@pytest.mark.parametrize("data", DATA_SETS)
@pytest.mark.parametrize(("kernel", "name"), OPERANDS, ids="-".join)
def test_real_matrices_are_stored_as_the_sam_tools_do(
    tmp_path: Path, data: str, kernel: str, name: str
) -> None:
    folder = workload_file(f"sam/{data}/{kernel}/tensor_{name}_mode_vals").parent
    modes = (1, 0) if (kernel, name) in BY_COLUMN else (0, 1)
    save_fibertree(tmp_path, name, store(load_tensor(folder, name), of("ss", modes)))
    for file in tmp_path.iterdir():
        ours, theirs = file.read_text(), (folder / file.name).read_text()
        if file.name.endswith("vals"):
            assert [float(word) for word in ours.split()] == [float(w) for w in theirs.split()]
        else:
            assert ours == theirs


@pytest.mark.parametrize("data", DATA_SETS)
@pytest.mark.parametrize(
    ("kernel", "name", "mode"),
    [
        ("mat_residual", "b", 0),
        ("mat_residual", "d", 1),
        ("mat_mattransmul", "d", 0),
        ("mat_mattransmul", "f", 1),
        ("mat_vecmul", "c", 1),
    ],
)
def test_real_vectors(data: str, kernel: str, name: str, mode: int) -> None:
    folder = workload_file(f"sam/{data}/{kernel}/tensor_{name}_mode_vals").parent
    last = {("lp_scsd1", 1): 597}.get((data, mode), 0)
    vector = load_tensor(folder, name)
    assert vector.coordinates.tolist() == [[last]]
    assert vector.values.tolist() == [1]
    assert vector.shape == (last + 1,)
    file = workload_file(f"sam/{data}-vec_mode{mode}-0.001.tns")
    if file.stat().st_size:
        assert np.array_equal(load_tensor(file).coordinates, vector.coordinates)
    else:  # so are three of the four
        with refused(
            f"{file}: the file has no entries: must have at least one, or a comment '# shape SIZES'"
        ):
            load_tensor(file)

"""What ``gnarl run -o`` writes is an input of other runs, in all its forms and on all targets."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.commands.main import main
from gnarl.sw.program.tensor_spec import Array, Dense, Sparse, TensorSpec
from gnarl.sw.runtime.report.output_files import save_outputs
from gnarl.sw.workloads.dag.load import load
from gnarl.sw.workloads.dag.rebind import values_from_file
from gnarl.sw.workloads.refusals import InputWarning
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import load_array, load_tensor, save_tensor
from tests.support.commands import gnarl, refusal
from tests.support.errors import refused

DENSE = np.array([[0, 1.5, 0], [-2, 0, 4]], np.float32)
SHAPES = [(), (3,), (2, 3), (2, 1, 3), (1, 2, 1, 3)]


def sparse(array: np.ndarray) -> Tensor:
    places = np.argwhere(array) if array.ndim else np.zeros((1, 0), np.int64)
    return Tensor(array.shape, places, array[tuple(places.T)] if array.ndim else array.reshape(1))


def spec(name: str, array: Array) -> TensorSpec:
    order = len(array.shape)
    levels = ("compressed",) * order
    storage = Dense() if isinstance(array, np.ndarray) else Sparse(levels, tuple(range(order)))
    return TensorSpec(name, array.shape, "float32", storage)


def save(path: Path, **outputs: Array) -> None:
    save_outputs(path, [spec(name, array) for name, array in outputs.items()], outputs)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("file", ["x.npz", "folder"])
def test_every_form(
    tmp_path: Path, shape: tuple[int, ...], form: str, others: bool, file: str
) -> None:
    array = np.resize(DENSE.reshape(-1), shape).astype(np.float32)
    stored = array if form == "dense" else sparse(array)
    outputs: dict[str, Array] = {"x": stored}
    if others:
        outputs |= {"a": np.ones(2, np.float32), "b": sparse(np.eye(2, dtype=np.float32))}
    path = tmp_path / file
    save(path, **outputs)
    paths = [str(path), f"{path}:x"] if path.suffix else [str(path)]
    for each in paths:
        name = "x" if others or not path.suffix else None
        assert np.array_equal(load_tensor(each, name).to_dense(), array)
        read = load_array(each, name)
        assert read.dtype == np.float32
        assert read.shape == shape
        assert np.array_equal(read, array)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    save(path, a=DENSE, b=sparse(DENSE))
    for each in (f"{path}:c", str(path)):
        with refused(f"{path}: has no tensor 'c', but b, a: one must be named, as in c=FILE.npz:b"):
            load_tensor(each, "c")
    other = path.with_suffix(".npy")
    with refused(f"{other}:a: only .npz files have tensors by name: must be {other}"):
        load_tensor(f"{other}:a")
    np.savez(path, **{"x.coordinates": np.ones(1), "x.values": np.ones(1), "x.shape": np.ones(2)})
    with pytest.raises(WorkloadError, match=r"x.npz: x.shape: is float64 \[2\]: must be sizes"):
        load_tensor(path)
    np.savez(
        path, **{"x.coordinates": np.ones((1, 1), int), "x.values": np.ones(1), "x.shape": [1]}
    )
    with pytest.raises(WorkloadError, match="x.npz: x: entry 0: coordinate .1,.: dimension 0 has"):
        load_tensor(path)
    np.savez(path)
    with pytest.raises(WorkloadError, match="has no tensor 'c', but none"):
        load_array(path, "c")


NEST = """
from gnarl.sw.workloads.loops.notation import float32, nest, sizes

n, m = sizes("n", "m")


@nest
def double(x: float32[n, m], y: float32[n, m]):
    for i in range(n):
        for j in range(m):
            y[i, j] = x[i, j] + x[i, j]
"""


def run(*arguments: str | Path) -> None:
    result = gnarl("run", *arguments, "--backend", "model")
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr


@pytest.mark.parametrize("form", ["ss", "dd"])
@pytest.mark.parametrize("named", [False, True])
def test_targets_take_the_results_of_each_other(tmp_path: Path, form: str, named: bool) -> None:
    save_tensor(tmp_path / "B.mtx", Tensor.from_any(DENSE))
    nest, results, last = (tmp_path / each for each in ("nest.py", "X.npz", "last.npz"))
    nest.write_text(NEST)
    text = f"X(i,j)=B(i,j) -f=B:ss -f=X:{form}"
    run("sam_fp32", text, "--tensor", f"B={tmp_path / 'B.mtx'}", "-o", results)
    file = f"{results}:X" if named else str(results)
    for config, name in (("tmu_l2", "x"), ("sram_b4", "x")):
        run(config, nest, "--tensor", f"{name}={file}", "-o", last)
        assert np.array_equal(load_array(last), DENSE * 2)
        for expression in ("Z(i,j)=Y(i,j) -f=Y:ss", "Z(i,j)=Y(i,j)"):
            run("sam_fp32", expression, "--tensor", f"Y={last}", "-o", tmp_path / "z.npz")
            assert np.array_equal(load_array(tmp_path / "z.npz"), DENSE * 2)


SYSTEM = """%%MatrixMarket matrix coordinate real general
3 3 5
1 1 2
2 1 1
2 2 4
3 2 -1
3 3 1
"""


def test_the_dpu_takes_numbers_by_name(tmp_path: Path) -> None:
    """The right-hand side of a system, and what a run made of its own inputs' names."""
    system, vector, results = (tmp_path / each for each in ("l.mtx", "b.npz", "x.npz"))
    system.write_text(SYSTEM)
    np.savez(vector, b=np.array([2.0, 5, 3]))
    run("dpu_d1_b8", system, "-o", results)
    workload = load(system)
    arguments = workload.dag, workload.input_names, workload.inputs
    assert values_from_file(vector, *arguments)[:3].tolist() == [2, 5, 3]
    assert values_from_file(vector, *arguments)[3:].tolist() == workload.inputs[3:].tolist()
    with pytest.raises(WorkloadError, match=r"x.npz: no input is called x.1., x.2., x.3.: "):
        values_from_file(results, *arguments)
    renamed = dict(np.load(results))
    renamed["outputs.labels"] = np.array(["b[3]", "b[1]", "b[2]"])
    np.savez(results, **{name: renamed[name] for name in renamed})
    values = values_from_file(results, *arguments)
    assert values[[2, 0, 1]].tolist() == renamed["outputs"].tolist()
    np.savez(vector, b=np.ones((2, 2)))
    with refused(f"{vector}: b: must be a number, or a vector of numbers"):
        values_from_file(vector, *arguments)


def test_a_damaged_result_is_one_line(tmp_path: Path) -> None:
    save(tmp_path / "x.npz", a=DENSE, b=sparse(DENSE))
    octets = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(octets[: len(octets) // 2])
    (tmp_path / "nest.py").write_text(NEST)
    for name in ("x", "x:a"):
        file = f"{tmp_path / name.replace('x', 'x.npz', 1)}"
        for command in (
            ("sam_fp32", "Z(i,j)=Y(i,j)", "--tensor", f"Y={file}"),
            ("tmu_l2", tmp_path / "nest.py", "--tensor", f"x={file}"),
        ):
            line = refusal(tmp_path, "run", *command, "--backend", "model")
            assert line.startswith(f"gnarl: {tmp_path / 'x.npz'}: not a .npz file, or damaged: ")


def test_repeated_entries_are_one_line_of_warning_and_none_of_a_refusal(tmp_path: Path) -> None:
    matrix = tmp_path / "B.mtx"
    matrix.write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 1 2\n")
    command = ("run", "sam_fp32", "X(i,j)=B(i,j) -f=B:ss", "--tensor", f"B={matrix}")
    with warnings.catch_warnings():
        warnings.simplefilter("always", InputWarning)
        done = CliRunner().invoke(main, [*command, "--backend", "model"])
        refused = CliRunner().invoke(main, [*command, "--tensor", "C=no.mtx", "--backend", "model"])
    assert done.exit_code == 0
    assert done.stderr == (
        f"gnarl: warning: {matrix}: entry (1, 1) in line 4 is added to entry (1, 1) in line 3\n"
    )
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.count("\n") == 1
    assert "warning" not in refused.stderr

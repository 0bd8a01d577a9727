"""Models on SAM through the ``gnarl`` command and Python: fusion, schedules, saved programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from gnarl import Device
from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.runtime.sam.sources import workload
from tests.support.commands import gnarl, refusal
from tests.support.errors import refused
from tests.support.results import load_dense

CONFIG = "sam_fp32"
GCN = "examples/gcn.py:karate"
MEMBERS = 34


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model as ``gcn.npz``, other inputs ``adj.mtx`` and ``x.mtx``, and the
    schedule that was used, ``used.toml``."""
    folder = tmp_path_factory.mktemp("models")
    noise = np.random.default_rng(0)
    for name in ("adj", "x"):
        matrix = scipy.sparse.random_array((MEMBERS, MEMBERS), density=0.1, rng=noise)
        scipy.io.mmwrite(folder / f"{name}.mtx", matrix)
    result = gnarl(
        "compile", CONFIG, GCN, "-o", folder / "gcn.npz", "--schedule-out", folder / "used.toml"
    )
    assert result.exit_code == 0, result.stderr
    return folder


def run(*arguments: str | Path) -> dict[str, Any]:
    """The report of a run that is right."""
    result = gnarl("run", CONFIG, *arguments, "--backend", "model", "--json")
    assert result.exit_code == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["matches"]
    return report


def dense(path: Path) -> np.ndarray:
    return scipy.io.mmread(path).toarray()


def softmax(adj: np.ndarray, x: np.ndarray, given: Mapping[str, Any] | None = None) -> np.ndarray:
    """What parameters, by default the model's, make of other inputs."""
    if given is None:
        given = workload(GCN).parameters  # type: ignore[union-attr]
    parameters = {name: tensor.to_dense() for name, tensor in given.items()}
    hidden = adj @ x @ parameters["conv1_weight"].T + parameters["conv1_bias"]
    hidden = np.maximum(hidden, 0)
    z = adj @ hidden @ parameters["conv2_weight"].T + parameters["conv2_bias"]
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "options",
    [
        ["--fuse", "none"],
        ["--fuse", "layer"],
        ["--fuse", "none", "--iteration", "global"],
        ["--iteration", "global"],
    ],
)
def test_fusion_and_iteration(options: list[str]) -> None:
    assert run(GCN, *options)["max_rel_error"] < 1e-5


def test_the_schedule_that_was_used_gives_the_same_program(files: Path, tmp_path: Path) -> None:
    arguments = ["-o", tmp_path / "again.npz", "--schedule", files / "used.toml"]
    result = gnarl("compile", CONFIG, GCN, *arguments)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "again.npz").read_bytes() == (files / "gcn.npz").read_bytes()


def test_parameters_are_in_the_order_of_inputs() -> None:
    """Not in that of a set, which is another in each process: programs have the same bytes."""
    names = ["conv1_weight", "conv1_bias", "conv2_weight", "conv2_bias"]
    assert [*workload(GCN).parameters] == names  # type: ignore[union-attr]


def test_a_schedule_that_associates(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('associate = ["adj*(x*conv1.weight)"]\n')
    assert run(GCN, "--schedule", path)["max_rel_error"] < 1e-5


def test_a_program_that_was_saved_runs_on_other_inputs(files: Path, tmp_path: Path) -> None:
    given = [f"--tensor={name}={files / name}.mtx" for name in ("adj", "x")]
    run(files / "gcn.npz", *given, "-o", tmp_path / "y.npz")
    expected = softmax(dense(files / "adj.mtx"), dense(files / "x.mtx"))
    np.testing.assert_allclose(load_dense(tmp_path / "y.npz", "result"), expected, rtol=1e-4)


def test_python() -> None:
    source = workload(GCN)
    noise = np.random.default_rng(0)
    adj, x = noise.random((2, MEMBERS, MEMBERS))
    with Device(CONFIG, backend="model") as device:
        program = device.compile(source, fuse="layer")
        outputs = device.run(program, {"adj": adj, "x": x}).outputs
        assert list(outputs) == ["result"]
        np.testing.assert_allclose(outputs["result"], softmax(adj, x), rtol=1e-4)
        with pytest.raises(WorkloadError, match="^tensor y is no input of the program; it has "):
            device.run(program, {"adj": adj, "x": x, "y": x})
        with pytest.raises(WorkloadError, match="^tensor adj is not given; the program has "):
            device.run(program, {"x": x})
        with refused("inputs are a list: must be tensors by name"):
            device.run(program, [adj, x])
        for wrong in (adj[:5], adj[:, :5], adj[0]):
            with pytest.raises(WorkloadError) as caught:
                device.run(program, {"adj": wrong, "x": x})
            assert "adj" in str(caught.value)
        with pytest.raises(WorkloadError, match="^fuse = all: must be none or layer or full$"):
            device.compile(source, fuse="all")
        for option in ("fuse", "iteration", "schedule_out"):
            text = f"{option}: not for an expression or a graph: must be left out"
            with refused(text):
                device.compile("x=b*c", **{option: "layer"})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"adj": "small.tns", "x": "x.mtx"}, "adj"),
        ({"adj": "adj.mtx"}, "tensor x is not given: --tensor NAME=PATH gives one"),
        (
            {"adj": "adj.mtx", "x": "x.mtx", "y": "x.mtx"},
            "--tensor y: no such input; there are adj, x, conv1_weight",
        ),
    ],
)
def test_inputs_that_do_not_fit(
    files: Path, tmp_path: Path, given: dict[str, str], text: str
) -> None:
    (files / "small.tns").write_text("# shape 3 3\n1 1 1\n")
    tensors = [f"--tensor={name}={files / path}" for name, path in given.items()]
    options = ["--backend", "model", "-o", tmp_path / "o.npz"]
    assert text in refusal(tmp_path, "run", CONFIG, files / "gcn.npz", *tensors, *options)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([GCN, "--fuse", "all"], "Invalid value for '--fuse'"),
        ([GCN, "--iteration", "all"], "Invalid value for '--iteration'"),
        (["x(i)=b(i)", "--fuse", "none"], "fuse: not for an expression or a graph"),
        (["x(i)=b(i)", "--schedule-out", "{tmp}/s.toml"], "schedule_out: not for an expression"),
        ([GCN, "--schedule", "{tmp}/no.toml"], "no.toml"),
        (["examples/gcn.py:nothing"], "nothing"),
        (["examples/nothing.py:karate"], "examples/nothing.py"),
    ],
)
def test_bad_options(tmp_path: Path, arguments: list[str], text: str) -> None:
    given = [each.format(tmp=tmp_path) for each in arguments]
    assert text in refusal(tmp_path, "compile", CONFIG, *given, "-o", tmp_path / "p.npz")


def test_a_schedule_that_does_not_fit_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('[[region]]\nstatements = ["matmul"]\n')
    options = ["--schedule", tmp_path / "s.toml", "--schedule-out", tmp_path / "used.toml"]
    text = refusal(tmp_path, "compile", CONFIG, GCN, *options, "-o", tmp_path / "p.npz")
    assert f"{tmp_path / 's.toml'}: region: no region has linear, " in text


def test_layers_of_pytorch_geometric_on_other_edges(tmp_path: Path) -> None:
    """A program that was saved makes the matrix of the edges that a run is given."""
    pytest.importorskip("torch_geometric")
    example = workload("examples/pyg_gcn.py:karate_edges")
    assert isinstance(example, SamModel)
    program, noise = tmp_path / "pyg.npz", np.random.default_rng(0)
    with Device(CONFIG, backend="model") as device:
        device.compile(example).save(program)
    count = example.shapes["edge_index"][1]
    given = {
        "edge_index": noise.integers(0, MEMBERS, (2, count)),
        "edge_weight": noise.random(count),
        "x": np.eye(MEMBERS),
    }
    for name, array in given.items():
        np.save(tmp_path / f"{name}.npy", array)
    arguments = [f"--tensor={name}={tmp_path / name}.npy" for name in given]
    run(program, *arguments, "-o", tmp_path / "y.npz")
    matrix = np.zeros((MEMBERS, MEMBERS))
    np.add.at(matrix, tuple(given["edge_index"][::-1]), given["edge_weight"])
    parameters = {name.replace("_lin", ""): each for name, each in example.parameters.items()}
    expected = softmax(matrix, given["x"], parameters)
    np.testing.assert_allclose(load_dense(tmp_path / "y.npz", "result"), expected, rtol=1e-4)


def test_hardware_of_several_launches(tmp_path: Path) -> None:
    """One launch's hardware is not the model's."""
    folder = tmp_path / "rtl"
    text = refusal(tmp_path, "rtl", CONFIG, GCN, "-o", folder)
    assert f"{GCN}: its 2 launches have hardware of their own" in text
    assert not folder.exists()


@pytest.mark.parametrize("config", ["dpu_d1_b8", "tmu_l8"])
def test_options_of_other_targets(tmp_path: Path, config: str) -> None:
    text = refusal(tmp_path, "compile", config, "x", "--fuse", "none", "-o", tmp_path / "p")
    assert "--fuse" in text


def test_a_fabric_that_is_too_small_is_named_with_the_region(tmp_path: Path) -> None:
    text = refusal(tmp_path, "compile", "sam_fabric_small", GCN, "-o", tmp_path / "p.npz")
    assert text.startswith("gnarl: region relu_0: graph: needs 3 of locate, the fabric has 1")

"""What ``gnarl run`` makes up where nobody gives values, and that it says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.sw.workloads.embedding.model import EmbeddingModel
from gnarl.sw.workloads.embedding.recflex import load_model
from tests.support.commands import gnarl

BLUR = """void blur(int n, const float a[n], float b[n], float e[n]) {
  for (int i = 1; i < n - 1; i++) b[i] = (a[i-1] + a[i] + a[i+1]) / 3.0f;
  for (int i = 1; i < n; i++) e[i] = b[i] - b[i-1];
}
"""

SAXPY = """from gnarl.sw.workloads.loops.notation import float32, nest, sizes

(n,) = sizes("n")


@nest
def saxpy(t: float32, x: float32[n], y: float32[n]):
    for i in range(n):
        y[i] {operator}
"""

GRAPH = {
    "directed": True,
    "multigraph": False,
    "nodes": [{"id": "x", "op": "input"}, {"id": "y", "op": "input"}, {"id": "s", "op": "add"}],
    "edges": [{"source": "x", "target": "s"}, {"source": "y", "target": "s"}],
}

MATRIX = "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 1 3\n2 2 2\n"

MODEL = """from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature

model = EmbeddingModel("one", [Feature("f", rows=4, dim=4, weighted=True)])
"""


def run(*arguments: str | Path) -> dict[str, Any]:
    found = gnarl("run", *arguments, "--json")
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)


def text_file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def array(folder: Path, name: str, *values: float) -> str:
    np.save(folder / f"{name}.npy", np.array(values, np.float32))
    return f"{name}={folder / f'{name}.npy'}"


@pytest.fixture
def core(tmp_path: Path) -> tuple[str, ...]:
    """In-SRAM computing's quickest way: the model's core."""
    pytest.importorskip("egglog")
    return ("--backend", "model", "--place", "core")


def test_what_a_nest_writes_in_part_begins_as_zeros(tmp_path: Path, core: tuple[str, ...]) -> None:
    path = text_file(tmp_path, "blur.c", BLUR)
    given = ("--tensor", array(tmp_path, "a", 3, 3, 3, 3, 3))
    output = tmp_path / "out.npz"
    found = run("sram_b2", path, *core, *given, "-o", output)
    assert found["made_up"] == []
    with np.load(output) as arrays:
        assert arrays["b"].tolist() == [0, 3, 3, 3, 0]
        assert arrays["e"].tolist() == [0, 3, 0, 0, -3]
    begun = ("--tensor", array(tmp_path, "b", 7, 7, 7, 7, 7))
    run("sram_b2", path, *core, *given, *begun, "-o", output)
    with np.load(output) as arrays:
        assert arrays["b"].tolist() == [7, 3, 3, 3, 7]


@pytest.mark.parametrize("operator", ["= t * x[i] + y[i]", "+= t * x[i]"])
def test_inputs_of_a_nest_on_in_sram_computing(
    tmp_path: Path, core: tuple[str, ...], operator: str
) -> None:
    path = text_file(tmp_path, "saxpy.py", SAXPY.format(operator=operator))
    assert run("sram_b2", path, *core, "--seed", "2")["made_up"] == ["t", "x", "y", "n"]
    assert run("sram_b2", path, *core, "--size", "n=3")["made_up"] == ["t", "x", "y"]
    x = ("--tensor", array(tmp_path, "x", 1, 2))
    found = run("sram_b2", path, *core, *x)
    assert found["made_up"] == ["t", "y"]
    y = ("--tensor", array(tmp_path, "y", 5, 5))
    assert run("sram_b2", path, *core, *x, *y)["made_up"] == ["t"]
    program = tmp_path / "saxpy.npz"
    assert gnarl("compile", "sram_b2", path, "--place", "core", "-o", program).exit_code == 0
    np.save(tmp_path / "t.npy", np.float32(2))
    t = ("--tensor", f"t={tmp_path / 't.npy'}")
    found = run("sram_b2", program, "--backend", "model", *x, *t)
    assert found["made_up"] == ["y"]
    assert found["outputs"]["y"]["values"] == {"y[0]": 2, "y[1]": 4}


def test_a_nest_on_the_tmu_has_only_its_zeros_made_up(tmp_path: Path) -> None:
    path = text_file(tmp_path, "saxpy.py", SAXPY.format(operator="= t * x[i] + y[i]"))
    np.save(tmp_path / "t.npy", np.float32(2))
    given = ("--tensor", f"t={tmp_path / 't.npy'}", "--tensor", array(tmp_path, "x", 1, 2))
    command = ("tmu_l2", path, "--backend", "model", *given)
    found = run(*command)
    assert (found["made_up"], found["outputs"]["y"]["values"]) == (["y"], {"y[0]": 2, "y[1]": 4})
    assert run(*command, "--tensor", array(tmp_path, "y", 5, 5))["made_up"] == []


def test_operations_by_name(tmp_path: Path) -> None:
    command = ("tmu_l2", "embedding_bag:tiny", "--backend", "model")
    assert run(*command)["made_up"] == ["table", "indices", "offsets"]
    table = np.zeros((64, 16), np.float32)
    np.save(tmp_path / "table.npy", table)
    given = run(*command, "--tensor", f"table={tmp_path / 'table.npy'}")
    assert given["made_up"] == ["indices", "offsets"]
    matrix = text_file(tmp_path, "a.mtx", MATRIX)
    assert run("tmu_l2", f"spmm:{matrix}", "--backend", "model")["made_up"] == ["dense"]
    merged = f"matrix_sum:{matrix}"
    assert run("tmu_l2", merged, "--backend", "model")["made_up"] == []


def test_a_matrix_has_no_right_hand_side(tmp_path: Path) -> None:
    matrix = text_file(tmp_path, "a.mtx", MATRIX)
    command = ("dpu_d1_b8", matrix, "--backend", "model")
    assert run(*command)["made_up"] == ["b[1]", "b[2]"]
    assert run(*command, "--values", matrix)["made_up"] == ["b[1]", "b[2]"]
    values = text_file(tmp_path, "values.json", '{"b[2]": 1}')
    assert run(*command, "--values", values)["made_up"] == ["b[1]"]


def test_a_graph_without_values(tmp_path: Path) -> None:
    graph = text_file(tmp_path, "g.json", json.dumps(GRAPH))
    command = ("dpu_d1_b8", graph, "--backend", "model")
    assert run(*command)["made_up"] == ["x", "y"]
    program = tmp_path / "g.npz"
    assert gnarl("compile", "dpu_d1_b8", graph, "-o", program).exit_code == 0
    again = ("dpu_d1_b8", program, "--backend", "model", "--values")
    assert run(*again, graph)["made_up"] == ["x", "y"]
    values = text_file(tmp_path, "values.json", '{"x": 1, "y": 2}')
    assert run(*again, values)["made_up"] == []
    for node in GRAPH["nodes"][:2]:
        node["value"] = 2
    try:
        whole = text_file(tmp_path, "whole.json", json.dumps(GRAPH))
    finally:
        for node in GRAPH["nodes"][:2]:
            del node["value"]
    assert run("dpu_d1_b8", whole, "--backend", "model")["made_up"] == []
    assert run(*again, whole)["made_up"] == []


@pytest.mark.parametrize("command", [("cuda_sm90", "--batch", "2"), ("tmu_l2", "--batch", "2")])
def test_tables_and_batches_of_models(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = text_file(tmp_path, "model.py", MODEL)
    config, *options = command
    options += ["--allow-python", "--backend", {"cuda_sm90": "emulation"}.get(config, "model")]
    names = ["f.table", "f.indices", "f.offsets", "f.weights"]
    assert run(config, path, *options)["made_up"] == names
    assert isinstance(load_model(path), EmbeddingModel)
    values = tmp_path / "values.npz"
    np.savez(
        values,
        **{
            "f.indices": np.array([0, 1]),
            "f.offsets": np.array([0, 1, 2]),
            "f.weights": np.ones(2, np.float32),
        },
    )
    own = [each for each in options if each not in ("--batch", "2")]
    assert run(config, path, *own, "--values", values)["made_up"] == ["f.table"]


def test_a_comparison_says_it_once(tmp_path: Path) -> None:
    found = gnarl("compare", "embedding_bag:tiny", "tmu_l2", "tmu_l8", "--backend", "model")
    assert found.exit_code == 0, found.stderr
    line = "\nMade up: table, indices, offsets (random, seed 0)\n"
    assert found.stdout.count(line) == 1

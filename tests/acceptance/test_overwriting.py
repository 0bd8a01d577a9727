"""No output of a command overwrites one of its inputs, or another of its outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gnarl.sw.runtime.target.configuration import configuration_files
from tests.support.commands import gnarl, refusal

CONFIG = "dpu_d1_b8"
EXPRESSION = "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss -f=c:s"
GRAPH = {
    "directed": True,
    "nodes": [{"id": "a", "op": "input", "value": 1.5}, {"id": "y", "op": "neg"}],
    "edges": [{"source": "a", "target": "y"}],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with inputs of all kinds."""
    monkeypatch.chdir(tmp_path)
    Path("w.json").write_text(json.dumps(GRAPH))
    Path("values.json").write_text('{"a": 2}')
    Path("mine.toml").write_bytes(configuration_files()[CONFIG].read_bytes())
    Path("B.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3\n")
    Path("c.tns").write_text("# shape 2\n2 5.0\n")
    Path("link.json").symlink_to("w.json")
    os.link("w.json", "hard.json")
    Path("model").mkdir()
    Path("model/table_config.txt").write_text("16,4\n")
    Path("model/data_config.txt").write_text("one-hot,1,1.0\n")
    Path("model.py").write_text("raise ValueError\n")
    Path("schedules").write_text("{}")
    assert gnarl("compile", CONFIG, "w.json", "-o", "p.npz").exit_code == 0
    return tmp_path


SAM = ["run", "sam_fp32", EXPRESSION, "--backend", "model"]
TENSORS = ["--tensor", "B=B.mtx", "--tensor", "c=c.tns"]
CUDA = ["run", "cuda_sm90", "model", "--backend", "emulation"]


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["run", CONFIG, "w.json", "--timeline", "w.json"], "w.json"),
        (["run", CONFIG, "w.json", "--waves", "w.json"], "w.json"),
        (["run", CONFIG, "w.json", "--timeline", "./link.json"], "link.json"),
        (["run", CONFIG, "link.json", "--timeline", "w.json"], "w.json"),
        (["run", CONFIG, "w.json", "--timeline", "hard.json"], "hard.json"),
        (["run", CONFIG, "w.json", "--values", "values.json", "--timeline", "values.json"], None),
        (["run", CONFIG, "p.npz", "--values", "values.json", "-o", "p.npz"], None),
        (["run", CONFIG, "p.npz", "--values", "values.json", "--waves", "p.npz"], None),
        (["run", "mine.toml", "w.json", "--timeline", "mine.toml"], None),
        (["compile", CONFIG, "w.json", "-o", "w.json"], None),
        (["compile", "mine.toml", "w.json", "-o", "mine.toml"], None),
        ([*SAM, *TENSORS, "--timeline", "B.mtx"], None),
        ([*SAM, *TENSORS, "--timeline", "c.tns"], None),
        ([*CUDA, "--timeline", "model/data_config.txt"], None),
        (["compile", "cuda_sm90", "model", "-o", "model/table_config.txt"], None),
        (["tune", "cuda_sm90", "model", "-o", "model/table_config.txt"], None),
        (["tune", "cuda_sm90", "model.py", "-o", "model.py"], None),
        (["tune", "cuda_sm90", "model.py:model", "-o", "model.py"], None),
        (["tune", "cuda_sm90", "model.py", "-o", "x.json", "--journal", "model.py"], None),
        ([*CUDA, "--schedules", "schedules", "--timeline", "schedules"], None),
    ],
)
def test_an_input_is_not_written_over(folder: Path, arguments: list[str], path: str | None) -> None:
    path = path or arguments[-1]
    assert refusal(folder, *arguments) == (
        f"gnarl: {path}: is an input of this command: must be another file"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", CONFIG, "w.json", "--timeline", "x.png", "--waves", "x.png"],
        ["run", CONFIG, "w.json", "--waves", "x.npz", "-o", "model/../x.npz"],
        ["compile", "sam_fp32", EXPRESSION, "-o", "x.npz", "--dot", "x.npz"],
        ["tune", "cuda_sm90", "model.py", "-o", "x.json", "--journal", "model/../x.json"],
    ],
)
def test_two_outputs_are_two_files(folder: Path, arguments: list[str]) -> None:
    line = refusal(folder, *arguments)
    assert line.startswith("gnarl: ")
    assert line.endswith(": given for two outputs: must be two files")


def test_a_dump_does_not_overwrite_the_graph_it_is_of(folder: Path) -> None:
    Path("passes").mkdir()
    graph = "passes/10_verify.dot"
    assert gnarl("compile", "sam_fp32", EXPRESSION, "--dot", graph).exit_code == 0
    line = refusal(folder, "compile", "sam_fp32", graph, "--dump", "passes", "-o", "y.npz")
    assert line == f"gnarl: {graph}: is an input of this command: must be another file"


def test_a_program_does_not_overwrite_a_dump(folder: Path) -> None:
    arguments = ("--dump", "passes", "-o", "passes/05_encode.txt")
    Path("passes").mkdir()
    result = gnarl("compile", CONFIG, "w.json", *arguments)
    assert (result.exit_code, result.stderr) == (
        2,
        "gnarl: passes/05_encode.txt: is another output of this command: must be another file\n",
    )
    assert Path("passes/05_encode.txt").read_text()


def test_a_fibertree_does_not_overwrite_an_operand(folder: Path) -> None:
    for text in ("x(i)=B(i,j)*c(j) -f=B:ss -f=c:s -f=x:s", "x(i)=y(i) -f=x:s -f=y:s"):
        tensors = TENSORS if "B" in text else ["--tensor", "y=trees/tensor_x"]
        arguments = ("run", "sam_fp32", text, *tensors, "--backend", "model", "-o", "trees")
        if "B" in text:
            assert gnarl(*arguments).exit_code == 0
        else:
            line = refusal(folder, *arguments)
            assert line.startswith("gnarl: trees/tensor_x_mode_")
            assert line.endswith(": is an input of this command: must be another file")


def test_a_result_may_be_replaced(folder: Path) -> None:
    arguments = ("run", CONFIG, "w.json", "--backend", "model", "-o", "result.npz")
    assert [gnarl(*arguments).exit_code for _ in range(2)] == [0, 0]

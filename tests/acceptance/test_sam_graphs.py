"""Graphs of whole programs as DOT files, which say what they compute: written, read and run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import gnarl
from tests.support.results import load_dense

CONFIG = "sam_fp32"
SOFTMAX = (
    "m(i)=max[j](A(i,j)); e(i,j)=exp(A(i,j)-m(i)); s(i)=sum[j](e(i,j)); y(i,j)=e(i,j)/s(i) "
    "-f=A:ss -f=y:ds"
)
A = np.random.default_rng(0).normal(size=(3, 40)).astype(np.float32)


@pytest.fixture
def a(tmp_path: Path) -> Path:
    path = tmp_path / "A.npy"
    np.save(path, A)
    return path


def run(workload: str | Path, output: Path, *arguments: str | Path) -> int:
    """Cycles of a run that is right."""
    options = (*arguments, "-o", output, "--backend", "model", "--json")
    result = gnarl("run", CONFIG, workload, *options)
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["matches"]
    cycles: int = report["cycles"]
    return cycles


def test_a_program_of_one_graph(tmp_path: Path, a: Path) -> None:
    graph, again, dump = tmp_path / "softmax.gv", tmp_path / "again.gv", tmp_path / "dump"
    given = ("--tensor", f"A={a}")
    options = ("--dot", graph, "--dump", dump, "--dump-after", "verify")
    result = gnarl("compile", CONFIG, SOFTMAX, *given, *options)
    assert result.exit_code == 0, result.stderr
    assert (dump / "10_verify.gv").read_text() == graph.read_text()
    assert '    longest="j=40"\n' in graph.read_text()
    assert gnarl("compile", CONFIG, graph, "--dot", again).exit_code == 0
    assert again.read_text() == graph.read_text()
    direct = run(SOFTMAX, tmp_path / "direct.npz", *given)
    assert run(graph, tmp_path / "read.npz", *given) == direct
    one, other = (load_dense(tmp_path / f"{name}.npz", "y") for name in ("direct", "read"))
    np.testing.assert_array_equal(one, other)
    np.save(a, np.vstack([A, A]))
    run(graph, tmp_path / "taller.npz", *given)
    np.save(a, np.ones((2, 41)))
    refused = gnarl("run", CONFIG, graph, *given, "--backend", "model")
    assert refused.exit_code == 2
    assert "tensor A has 41 coordinates of j in a fiber: at most 40 are declared" in refused.stderr


def test_regions_one_after_the_other(tmp_path: Path, a: Path) -> None:
    given = ("--tensor", f"A={a}")
    options = ("--fuse", "none", "-o", tmp_path / "x.npz", "--dump", tmp_path)
    assert gnarl("compile", CONFIG, SOFTMAX, *given, *options).exit_code == 0
    known = {"A": a}
    for name, takes in (("m", ["A"]), ("e", ["A", "m"]), ("s", ["e"]), ("y", ["e", "s"])):
        known[name] = tmp_path / f"result_{name}.npz"
        tensors = [word for each in takes for word in ("--tensor", f"{each}={known[each]}")]
        run(tmp_path / f"10_verify.{name}.gv", known[name], *tensors)
    direct = tmp_path / "direct.npz"
    run(SOFTMAX, direct, *given, "--fuse", "none")
    np.testing.assert_array_equal(load_dense(direct, "y"), load_dense(known["y"], "y"))


def test_a_graph_that_computes_something_else_differs(tmp_path: Path, a: Path) -> None:
    graph = tmp_path / "x.gv"
    text = "x(i)=max[j](A(i,j)) -f=A:ss -f=x:d"
    given = ("--tensor", f"A={a}")
    assert gnarl("compile", CONFIG, text, *given, "--dot", graph).exit_code == 0
    graph.write_text(graph.read_text().replace("max[j]", "sum[j]"))
    result = gnarl("run", CONFIG, graph, *given, "--backend", "model")
    assert result.exit_code == 1

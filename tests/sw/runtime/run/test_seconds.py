"""The seconds of stages in reports: together they are those on the clock."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.sw.runtime.report.stages import TimedStages, quiet
from gnarl.sw.runtime.target.registry import TARGETS
from tests.support.commands import gnarl

GRAPH = {
    "directed": True,
    "multigraph": False,
    "nodes": [
        {"id": "x", "op": "input", "value": 1.5},
        {"id": "y", "op": "input", "value": 2.0},
        {"id": "s", "op": "add"},
    ],
    "edges": [{"source": "x", "target": "s"}, {"source": "y", "target": "s"}],
}

SUM = "x(i)=b(i)+c(i)"

ADD = """void add(int n, const float b[n], const float c[n], float x[n]) {
  for (int i = 0; i < n; i++) x[i] = b[i] + c[i];
}
"""

MODEL = """from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature

model = EmbeddingModel("one", [Feature("f", rows=4, dim=4)])
"""

RUNS = {
    "dpu": ["dpu_d1_b8", "{}/graph.json", "--backend", "model", "--timeline", "{}/timeline.png"],
    "sam": ["sam_fp32", SUM, "--backend", "model"],
    "tmu": ["tmu_l2", SUM, "--backend", "model"],
    "sram": ["sram_b2", "{}/add.c", "--backend", "model", "--size", "n=8"],
    "cuda": ["cuda_sm90", "{}/one.py:model", "--backend", "emulation", "--batch", "4"],
}

STEPS = {
    "reader": ("source", "workload", "inputs", "made_up"),
    "compiler": ("warm_up", "compile"),
    "executor": ("bind", "given", "job", "check", "limited", "golden", "reference"),
    "presenter": ("figures", "draw", "note"),
}
"""What a run goes through, by the target's part."""

EACH_S = 0.1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "graph.json").write_text(json.dumps(GRAPH))
    (tmp_path / "add.c").write_text(ADD)
    (tmp_path / "one.py").write_text(MODEL)
    for name in "bc":
        np.save(tmp_path / f"{name}.npy", np.arange(8) + 0.25)
    return tmp_path


def command(target: str, folder: Path) -> list[str]:
    words = [word.format(folder) for word in RUNS[target]]
    if SUM in words:
        words += ["--tensor", f"b={folder}/b.npy", "--tensor", f"c={folder}/c.npy"]
    return [*words, "-o", f"{folder}/outputs.npz", "--json"]


def outside(command: Sequence[str]) -> tuple[float, list[dict[str, float]]]:
    """The seconds that a command spends outside of all stages, and those of each run's stages."""
    begin = time.perf_counter()
    done = gnarl(*command)
    elapsed = time.perf_counter() - begin
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    seconds = [run["seconds"] for run in report.get("runs", [report])]
    return elapsed - sum(sum(each.values()) for each in seconds), seconds


def slow(step: Callable[..., Any]) -> Callable[..., Any]:
    def late(*arguments: Any, **options: Any) -> Any:
        time.sleep(EACH_S)
        return step(*arguments, **options)

    return late


def slow_down(target: str, patch: pytest.MonkeyPatch) -> None:
    """Every step of the target's runs takes ``EACH_S`` longer."""
    for part, steps in STEPS.items():
        owner = getattr(TARGETS[target], part)
        for step in steps:
            patch.setattr(owner, step, slow(getattr(owner, step)), raising=False)


@pytest.mark.parametrize("target", RUNS)
def test_all_of_a_run_is_in_stages(
    target: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step outside of all stages would be ``EACH_S`` of about two seconds, and all may well
    be 0.05 s for the page, and pauses of the machine."""
    slow_down(target, monkeypatch)
    rest, (seconds,) = outside(["run", *command(target, folder)])
    total = sum(seconds.values())
    assert total > 10 * EACH_S
    assert rest < max(0.05 * total, EACH_S)
    for stage in ("start", "load", "compile", "bind", "verify", "report", "write", "close"):
        assert stage in seconds


def test_all_of_a_run_of_a_program_file_is_in_stages(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, program = folder / "graph.json", folder / "program.npz"
    assert gnarl("compile", "dpu_d1_b8", graph, "-o", program).exit_code == 0
    slow_down("dpu", monkeypatch)
    words = ["run", "dpu_d1_b8", str(program), "--values", str(graph), "--backend", "model"]
    rest, (seconds,) = outside([*words, "--json"])
    assert rest < max(0.05 * sum(seconds.values()), EACH_S)
    assert "compile" not in seconds


def test_all_of_a_comparison_is_in_stages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for target in ("sam", "tmu"):
        slow_down(target, monkeypatch)
    tensors = [f"--tensor={name}={folder}/{name}.npy" for name in "bc"]
    words = ["compare", SUM, "sam_fp32", "tmu_l2", "--backend", "model", *tensors, "--json"]
    rest, (first, second) = outside(words)
    assert rest < max(0.05 * (sum(first.values()) + sum(second.values())), EACH_S)
    assert first["start"] > second["start"]


def test_work_begins_before_its_first_stage() -> None:
    stages = TimedStages(quiet, time.perf_counter() - 5)
    assert 5 <= stages.seconds["start"] < 6
    assert not TimedStages(quiet).seconds

"""Whole sessions, on a driver without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench.cuda import main
from bench.cuda_parts.protocol import PROTOCOL
from bench.cuda_parts.session.state import MOST_BYTES
from bench.lib.records import load, save
from tests.support.cuda.stand_in_driver import NAME, driver_folder

ROOT = Path(__file__).parents[4]

PARTS = ("card", "outputs", "launches", "kernels", "variants", "tuning", "scale")
NOT_POSSIBLE = {
    "counters of 1: A",
    "TorchRec: A",
    *(f"end to end, {kernel}: A" for kernel in ("uniform, warp per sample", "TorchRec")),
    "end to end, embedding_bag: A",
    "embedding_bag: A",
    "scale, TorchRec: 20_features",
    "scale, TorchRec: mlperf",
}


@pytest.fixture(scope="module")
def workloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of one feature as model A."""
    folder = tmp_path_factory.mktemp("workloads")
    model = folder / "recflex" / "A"
    model.mkdir(parents=True)
    (model / "table_config.txt").write_text("50,4\n")
    (model / "data_config.txt").write_text("one-hot,1,1.0\n")
    return folder


def session(state: Path, *options: str | Path, **environment: str) -> Any:
    """The command, in a process of its own, in the folder of the state."""
    command = [sys.executable, "-m", "bench.cuda", "session", "--state", state, *options]
    hidden = ("LD_LIBRARY_PATH", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [str(each) for each in command],
        env={**kept, "PYTHONPATH": str(ROOT), **environment},
        cwd=state.parent,
        capture_output=True,
        text=True,
        timeout=180,
    )


def quick_session(workloads: Path, state: Path) -> Any:
    """One with the stand-in for a driver, and without what a machine may lack."""
    return session(
        state,
        *("--quick", "--models", "A", "--workloads", workloads, "--minutes", "2"),
        *("--step-seconds", "15", "--cores", "2", "--json", state.parent / "done.json"),
        LD_LIBRARY_PATH=str(driver_folder()),
        PATH=os.pathsep.join(["/usr/bin", "/bin"]),
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def commit_of_another(state: Path) -> None:
    """Has all that was measured be of another commit."""
    for part in PARTS:
        path = state / f"cuda_{part}.json"
        lines = path.read_text().replace(load(path)[0].commit, "another")
        path.write_text(lines)
        assert {record.commit for record in load(path)} == {"another"}


def test_a_session_is_run_and_goes_on(
    workloads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Kernels do nothing, so that all results are wrong, and it must say so."""
    state = tmp_path / "state"
    done = quick_session(workloads, state)
    assert done.returncode == 1, done.stderr
    assert f"{NAME}, sm_90: looked at in" in done.stdout
    found = json.loads((tmp_path / "done.json").read_text())
    assert (found["gpu"], found["protocol"], found["left"]) == (NAME, PROTOCOL, [])
    assert found["state_bytes"] == sum(map(len, contents(state).values())) < MOST_BYTES
    statuses = {name: step["status"] for name, step in found["steps"].items()}
    assert {name for name, status in statuses.items() if status == "not possible"} == NOT_POSSIBLE
    assert {name for name, status in statuses.items() if status == "done"} == {
        "launches: A",
        "tuning, two-stage: A",
        "tuning, separate: A",
    }
    assert set(statuses.values()) == {"done", "not possible", "wrong"}
    assert found["steps"]["outputs: A"]["reason"] == "not bit-exact: 8"
    assert "counters of 1: A: not possible" in done.stdout
    assert (state / "schedules" / "A.json").is_file()
    for part in PARTS:
        records = load(state / f"cuda_{part}.json")
        assert {record.tools["gpu"] for record in records} == {NAME}
        assert {record.tools["protocol"] for record in records} == {str(PROTOCOL)}
        exact = [record.value for record in records if record.metric == "bit_exact"]
        assert not any(exact)

    (tmp_path / "README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["page", "-o", str(state)]).exit_code == 0
    page = (tmp_path / "docs" / "results" / "cuda.md").read_text()
    assert f"\n| {NAME} | 4 | " in page
    for part in ("counters", "bits"):
        assert f"<!-- {part}:begin -->\nNot measured yet.\n" in page

    commit_of_another(state)
    before = contents(state)
    done = quick_session(workloads, state)
    assert done.returncode == 1, done.stderr
    measured = len(statuses) - len(NOT_POSSIBLE)
    assert f"{measured} of {len(statuses)} steps were done before" in done.stdout
    again = json.loads((tmp_path / "done.json").read_text())
    assert again["steps"] == found["steps"]
    changed = {path for path, content in contents(state).items() if before.get(path) != content}
    assert {Path(path).name for path in changed} <= {"session.json", "cuda_card.json"}


def test_a_state_of_another_protocol_is_refused(workloads: Path, tmp_path: Path):
    state = tmp_path / "state"
    state.mkdir()
    (state / "session.json").write_text(json.dumps({"protocol": 0, "steps": {}}))
    save(state / "cuda_kernels.json", [])
    before = contents(state)
    done = session(state, "--models", "A", "--workloads", workloads)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"bench.cuda session: {state}/session.json: protocol 0: must be {PROTOCOL}; nothing was "
        "changed: keep it, and begin another state\n"
    )
    assert contents(state) == before


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ("--minutes", "9.9"),
            "Invalid value for --minutes: 9.9: must leave 20 of the 600 s that a command may take "
            "(--command-seconds)",
        ),
        (
            ("--minutes", "9", "--command-seconds", "300"),
            "Invalid value for --minutes: 9: must leave 20 of the 300 s that a command may take "
            "(--command-seconds)",
        ),
        (("--json", "none/a.json"), "Invalid value for --json: none: no such folder"),
        (("--minutes", "0"), "Invalid value for '--minutes': 0.0 is not in the range x>0."),
        (("--models", "A,G"), "recflex/G: no such folder: must be a model of the workloads"),
        (("--models", ","), "Invalid value for '--models': ',': must be names between commas"),
    ],
)
def test_bad_options_change_nothing(
    workloads: Path, tmp_path: Path, options: tuple[str, ...], complaint: str
):
    arguments = ["session", "--state", str(tmp_path / "state"), "--workloads", str(workloads)]
    done = CliRunner().invoke(main, [*arguments, *options])
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert not (tmp_path / "state").exists()


def test_without_a_gpu_nothing_is_measured(workloads: Path, tmp_path: Path):
    state = tmp_path / "state"
    options = ("--models", "A", "--workloads", workloads, "--minutes", "0.5")
    done = session(state, *options, CUDA_VISIBLE_DEVICES="")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr in {
        f"bench.cuda session: {reason}\n"
        for reason in ("this machine has no CUDA driver", "the CUDA driver finds no GPU")
    }

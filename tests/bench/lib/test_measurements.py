"""Jobs and the records of what they measure."""

from __future__ import annotations

import io
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import pytest
from rich.console import Console

from bench.lib.measurements import measure_all
from bench.lib.records import Metric, Setting
from bench.lib.results import Results
from gnarl.hw.lib.errors import WorkloadError

METRICS = {"cycles": Metric("cycles", "lower"), "right": Metric("", "higher")}


@dataclass(frozen=True)
class Job:
    name: str

    @property
    def labels(self) -> dict[str, str]:
        return {"job": self.name}

    def setting(self) -> Setting:
        return Setting("", (), "", 3)

    def __str__(self) -> str:
        return self.name


def measure(job: Job) -> dict[str, int | bool]:
    if job.name == "refuse":
        raise WorkloadError("job: must be another")
    return {"cycles": 7, "right": job.name == "good"}


@pytest.mark.parametrize(
    ("names", "measured", "well"),
    [
        (["good"], {"good": True}, True),
        (["good", "bad"], {"good": True, "bad": False}, False),
        (["refuse", "good"], {"good": True}, False),
    ],
)
def test_what_has_results_is_recorded(names: list[str], measured: dict[str, bool], well: bool):
    jobs = [Job(name) for name in names]
    console = Console(file=io.StringIO())
    found, good = measure_all(
        "b", measure, jobs, METRICS, right=itemgetter("right"), console=console
    )
    assert good == well
    assert {record.labels["job"]: record.value for record in found[1::2]} == measured
    assert [record.name for record in found[::2]] == [f"b/{name}/cycles" for name in measured]
    assert {record.setting.seed for record in found} == {3}


def test_what_results_have_is_not_measured_again(tmp_path: Path):
    path = tmp_path / "r.json"
    ran: list[str] = []
    console = Console(file=io.StringIO(), width=100)

    def run(names: list[str]) -> tuple[list[str], bool]:
        found, good = measure_all(
            "b",
            measure,
            [Job(name) for name in names],
            METRICS,
            right=itemgetter("right"),
            console=console,
            results=Results.begin(path, resume=True),
        )
        ran[:] = console.file.getvalue().splitlines()
        return [record.labels["job"] for record in found[::2]], good

    assert run(["good"]) == (["good"], True)
    assert run(["bad", "good"]) == (["bad", "good"], False)
    assert ran == ["b: good: done", "b: bad: done"]
    assert run(["good"]) == (["bad", "good"], False)
    assert ran == ["b: good: done", "b: bad: done"]


def test_jobs_that_run_alone_are_first_and_keep_their_places():
    console = Console(file=io.StringIO(), width=100)
    jobs = [Job("good"), Job("bad"), Job("fair")]
    found, _ = measure_all(
        "b", measure, jobs, METRICS, console=console, alone=lambda job: job.name == "bad"
    )
    assert console.file.getvalue().splitlines() == [
        "b: bad: done",
        "b: good: done",
        "b: fair: done",
    ]
    assert [record.labels["job"] for record in found[::2]] == ["good", "bad", "fair"]

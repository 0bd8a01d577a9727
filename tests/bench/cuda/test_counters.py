"""Counters of a profiler that is a script."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bench.cuda_parts import counters
from bench.cuda_parts.counters import Job, NoCounters, read_counters
from bench.cuda_parts.measure import OURS, UNIFORM
from bench.cuda_parts.model_sources import ModelFolder
from bench.lib.jobs import TimeLimit
from bench.lib.records import rows
from bench.lib.results import Results
from gnarl.hw.lib.errors import GnarlError
from tests.support.cuda.bench import GPU, write_model

PRINTED = """==PROF== Connected to process 7
==PROF== Profiling "gnarl_fused_embedding_bags": 0%....100% - 2 passes
"ID","Kernel Name","gpu__time_duration.sum","smsp__inst_executed.sum","dram__bytes.sum"
"","","ns","inst","byte"
"0","gnarl_fused_embedding_bags","99,000","1","8"
"1","gnarl_fused_embedding_bags","11,000","673,380","n/a"
"2","gnarl_fused_embedding_bags","13,000","673,382","n/a"
"3","gnarl_fused_embedding_bags","12,000","673,381","n/a"
"""


def test_launches_but_the_first_count():
    values = read_counters(PRINTED)
    assert values["us"] == 12.0
    assert values["instructions"] == 673_381
    assert values["memory_bytes"] is values["lanes"] is None
    assert set(values) == set(counters.METRICS)


@pytest.mark.parametrize("text", ["", "\n".join(PRINTED.splitlines()[:4])])
def test_no_launch_is_no_counters(text: str):
    with pytest.raises(NoCounters, match="^ncu reports no launch of gnarl_fused"):
        read_counters(text)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    source = ModelFolder(write_model(tmp_path / "A"))
    results = Results.begin(tmp_path / "r.json", resume=False)
    return Job(source, OURS, 512, GPU, 0, tmp_path / "schedules", results, None, tmp_path)


def profiler(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    file = folder / "bin" / "ncu"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(file.parent), os.environ["PATH"]]))


def test_counters_are_recorded(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "printed").write_text(PRINTED)
    arguments = tmp_path / "arguments"
    profiler(tmp_path, monkeypatch, f'echo "$@" > {arguments}; cat {tmp_path}/printed')
    counters.measure(job)
    found = job.results.load()
    assert rows(found)[("A", OURS, 512)]["us"] == 12.0
    assert {"kernel", "schedules", "protocol"} <= set(found[0].tools)
    assert "--clock-control none" in arguments.read_text()
    table = counters.tables(found)["Counters"]
    assert table.body[0][:6] == ["A", OURS, "512", "12.0", "", "673,381"]
    assert counters.verdict(found) == "counters of large batches: not measured"
    counters.draw(found, tmp_path / "a.png")
    profiler(tmp_path, monkeypatch, "exit 1")
    counters.measure(job)
    assert job.results.load() == found


@pytest.mark.parametrize(
    ("script", "kind", "text"),
    [
        (
            "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'; exit 1",
            NoCounters,
            "ncu may not read counters here (ERR_NVGPUCTRPERM)",
        ),
        (
            "echo '==ERROR== Failed to initialize the profiler: LibraryNotLoaded'; exit 9",
            NoCounters,
            "ncu: Failed to initialize the profiler: LibraryNotLoaded",
        ),
        ("echo Traceback; echo 'no such model'; exit 1", GnarlError, "ncu failed: no such model"),
        ("exit 1", GnarlError, "ncu failed: it prints nothing"),
        ("sleep 60", GnarlError, "ncu took more than 1 s"),
    ],
)
def test_a_card_without_counters(
    job: Job,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    kind: type[GnarlError],
    text: str,
):
    profiler(tmp_path, monkeypatch, script)
    monkeypatch.setattr(counters, "SECONDS", 1.0)
    with pytest.raises(GnarlError) as caught:
        counters.measure(job)
    assert (str(caught.value), isinstance(caught.value, NoCounters)) == (text, kind is NoCounters)
    assert job.results.load() == []


def test_a_machine_without_the_profiler(job: Job, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoCounters, match="^ncu is not installed$"):
        counters.measure(job)


def test_nothing_begins_after_the_time_limit(job: Job):
    late = Job(job.source, UNIFORM, 1, GPU, 0, job.schedules, job.results, time.time())
    with pytest.raises(TimeLimit):
        counters.measure(late)

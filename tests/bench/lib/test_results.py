"""Results files that grow while a benchmark runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.lib.records import Metric, Record, ResultsError, Setting, load, records, save
from bench.lib.results import Results

SETTING = Setting("cuda_sm90", (), "d", 3, 16)
METRICS = {"ms": Metric("ms", "lower")}


def of(model: str, ms: float) -> list[Record]:
    return records("b", {"model": model}, {"ms": ms}, METRICS, SETTING, also={"gpu": "G"})


def values(path: Path) -> dict[str, float]:
    return {record.labels["model"]: record.value for record in load(path)}


def test_every_addition_is_on_disk(tmp_path: Path):
    path = tmp_path / "r.json"
    results = Results.begin(path, resume=False)
    assert load(path) == []
    results.add(of("A", 1.0))
    assert values(path) == {"A": 1.0}
    results.add([*of("B", 2.0), *of("C", 3.0)])
    results.add(of("B", 4.0))
    assert values(path) == {"A": 1.0, "C": 3.0, "B": 4.0}
    assert results.load() == load(path)


def test_a_run_begins_anew_unless_it_resumes(tmp_path: Path):
    path = tmp_path / "r.json"
    save(path, of("A", 1.0))
    Results.begin(path, resume=True)
    assert values(path) == {"A": 1.0}
    Results.begin(path, resume=False)
    assert values(path) == {}
    assert Results.begin(tmp_path / "none.json", resume=True).load() == []


def test_what_another_commit_measured_does_not_count(tmp_path: Path):
    path = tmp_path / "r.json"
    save(path, [*of("A", 1.0), *(replace(each, commit="other") for each in of("B", 2.0))])
    Results.begin(path, resume=True)
    assert values(path) == {"A": 1.0}


def test_nor_what_was_measured_otherwise(tmp_path: Path):
    results = Results.begin(tmp_path / "r.json", resume=False)
    results.add(of("A", 1.0))
    assert results.has("b", {"model": "A"}, SETTING)
    assert results.has("b", {"model": "A"}, SETTING, {"gpu": "G"})
    assert not results.has("b", {"model": "A"}, SETTING, {"gpu": "H"})
    assert not results.has("b", {"model": "A"}, replace(SETTING, seed=4))
    assert not results.has("b", {"model": "B"}, SETTING)
    assert not results.has("c", {"model": "A"}, SETTING)


def test_what_is_no_results_file_is_refused(tmp_path: Path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps([]))
    with pytest.raises(ResultsError):
        Results.begin(path, resume=True)


def test_a_benchmark_may_say_what_counts(tmp_path: Path):
    path = tmp_path / "r.json"
    save(path, [*of("A", 1.0), *(replace(each, commit="other") for each in of("B", 2.0))])
    Results.begin(path, True, lambda record: record.tools["gpu"] == "G")
    assert values(path) == {"A": 1.0, "B": 2.0}
    Results.begin(path, True, lambda record: record.labels["model"] == "B")
    assert values(path) == {"B": 2.0}


def test_as_many_runs_or_more_will_do(tmp_path: Path):
    results = Results.begin(tmp_path / "r.json", resume=False)
    results.add(of("A", 1.0))
    assert results.has("b", {"model": "A"}, replace(SETTING, runs=SETTING.runs - 1))
    assert not results.has("b", {"model": "A"}, replace(SETTING, runs=SETTING.runs + 1))

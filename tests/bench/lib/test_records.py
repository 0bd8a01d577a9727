"""Records and their files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.lib.records import (
    Metric,
    Record,
    ResultsError,
    Setting,
    commit,
    load,
    records,
    rows,
    save,
    tools,
)
from gnarl.sw.runtime.target.configuration import load_configuration

METRICS = {"cycles": Metric("cycles", "lower"), "seconds": Metric("s", "lower")}


def some_records() -> list[Record]:
    configuration = load_configuration("dpu_d3_b64", ["registers=64", "overlap=false"])
    setting = Setting.of(configuration, seed=3, runs=2)
    found = []
    for workload, cycles in (("a", 7), ("b", 9)):
        values = {"cycles": cycles, "seconds": 1.5}
        labels = {"workload": workload, "banks": 64}
        found += records("t", labels, values, METRICS, setting, {"seconds": (1.0, 2.0)})
    return found


def test_a_record_has_what_its_value_depends_on():
    fields = some_records()[1].to_json()
    digest = load_configuration("dpu_d3_b64", ["registers=64", "overlap=false"]).config.digest
    assert fields == {
        "name": "t/a/64/seconds",
        "bench": "t",
        "labels": {"workload": "a", "banks": 64},
        "metric": "seconds",
        "value": 1.5,
        "unit": "s",
        "direction": "lower",
        "spread": (1.0, 2.0),
        "config": "dpu_d3_b64",
        "overrides": ("registers=64", "overlap=False"),
        "digest": digest,
        "seed": 3,
        "runs": 2,
        "commit": commit(),
        "tools": tools(),
    }


def test_tools_are_named_with_their_versions():
    assert list(tools()) == ["python", "amaranth", "numba", "numpy", "verilator", "cpu"]
    assert all(tools().values())


def test_what_is_saved_is_loaded(tmp_path: Path):
    save(tmp_path / "r.json", some_records())
    assert load(tmp_path / "r.json") == some_records()


def test_rows_are_by_labels():
    assert rows(some_records()) == {
        ("a", 64): {"cycles": 7, "seconds": 1.5},
        ("b", 64): {"cycles": 9, "seconds": 1.5},
    }


def test_a_metric_without_a_unit_is_a_mistake():
    setting = Setting.of(load_configuration("dpu_d3_b64"), seed=0)
    with pytest.raises(KeyError, match="^'joules'$"):
        records("t", {}, {"joules": 1.0}, METRICS, setting)


def test_an_absent_file_is_refused(tmp_path: Path):
    path = tmp_path / "r.json"
    with pytest.raises(ResultsError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: cannot be read: No such file or directory"


def test_another_version_is_refused(tmp_path: Path):
    path = tmp_path / "r.json"
    path.write_text('{"version": 2, "records": []}')
    with pytest.raises(ResultsError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: version 2: must be 1"


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}', '{"version": 1, "records": [{}]}'])
def test_what_is_no_results_file_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(ResultsError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: not a results file of a benchmark: ")


def test_a_value_that_is_no_json_leaves_nothing_behind(tmp_path: Path):
    found = records(
        "t",
        {},
        {"seconds": float("inf")},
        METRICS,
        Setting.of(load_configuration("dpu_d3_b64"), seed=0),
    )
    with pytest.raises(ValueError):
        save(tmp_path / "r.json", found)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_json_with_a_version(tmp_path: Path):
    save(tmp_path / "r.json", some_records())
    content = json.loads((tmp_path / "r.json").read_text())
    assert list(content) == ["version", "records"]
    assert [fields["name"] for fields in content["records"]] == [
        f"t/{workload}/64/{metric}" for workload in "ab" for metric in METRICS
    ]

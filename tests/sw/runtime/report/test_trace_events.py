"""Runs as trace events."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.runtime.report.timeline import Activity
from gnarl.sw.runtime.report.trace_events import write_trace
from gnarl.sw.runtime.run.session import run_once
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.commands import gnarl, refusal
from tests.support.dpu.dag_files import product

ACTIVITY = Activity(
    "PEs",
    4,
    np.array([0, 4, 4, 2, 0]),
    {"exec": np.array([0, 1, 1, 0, 1], bool), "nop": np.array([1, 0, 0, 0, 0], bool)},
    "a note",
)


def test_equal_cycles_are_one_event(tmp_path: Path) -> None:
    write_trace(ACTIVITY, "a name", tmp_path / "x.json")
    trace = json.loads((tmp_path / "x.json").read_text())
    title = "a name: 5 cycles, 2.00 of 4 PEs busy\n(a note)"
    assert trace["otherData"] == {"title": title, "microsecond": "cycle"}
    events = trace["traceEvents"]
    named = [(event["name"], event["args"]["name"]) for event in events if event["ph"] == "M"]
    assert named == [("process_name", title), ("thread_name", "exec"), ("thread_name", "nop")]
    spans = [
        (event["name"], event["tid"], event["ts"], event["dur"])
        for event in events
        if event["ph"] == "X"
    ]
    assert spans == [("exec", 1, 1, 2), ("exec", 1, 4, 1), ("nop", 2, 0, 1)]
    counts = [(event["ts"], event["args"]["PEs"]) for event in events if event["ph"] == "C"]
    assert counts == [(0, 0), (1, 4), (3, 2), (4, 0), (5, 0)]
    assert {event["pid"] for event in events} == {1}


def test_shares_of_spans_are_counters(tmp_path: Path) -> None:
    activity = Activity(
        "words",
        4,
        np.array([1.5, 1.5, 0.0]),
        {"exec": np.array([1.0, 0.5, 0.5])},
        edges=np.array([0, 2, 10, 12]),
        state="in use",
        others={"cycles: access": {"waits": np.array([0.25, 0.0, 0.0])}},
    )
    write_trace(activity, "a name", tmp_path / "x.json")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert [event["ph"] for event in events] == ["M", *"CCC", *"CCC", *"CCC"]
    assert [(event["name"], event["ts"], event["args"]) for event in events[1:]] == [
        ("exec, % of cycles", 0, {"%": 100.0}),
        ("exec, % of cycles", 2, {"%": 50.0}),
        ("exec, % of cycles", 12, {"%": 0}),
        ("waits, % of cycles: access", 0, {"%": 25.0}),
        ("waits, % of cycles: access", 2, {"%": 0.0}),
        ("waits, % of cycles: access", 12, {"%": 0}),
        ("words in use", 0, {"words": 1.5}),
        ("words in use", 10, {"words": 0.0}),
        ("words in use", 12, {"words": 0}),
    ]


def test_a_trace_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.json").mkdir()
    with pytest.raises(OSError):
        write_trace(ACTIVITY, "a name", tmp_path / "x.json")
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_a_trace_is_of_the_reports_cycles(tmp_path: Path) -> None:
    path = tmp_path / "trace.JSON"
    report = run_once(
        load_configuration("dpu_d1_b8"), str(product(tmp_path)), backend="model", timeline=path
    )
    events = json.loads(path.read_text())["traceEvents"]
    counts = [event for event in events if event["ph"] == "C"]
    assert counts[-1]["ts"] == report.cycles
    busy = sum(
        (after["ts"] - each["ts"]) * each["args"]["PEs"]
        for each, after in zip(counts, counts[1:], strict=False)
    )
    assert busy == report.figures.operations


def test_a_trace_does_not_overwrite_the_workload(tmp_path: Path) -> None:
    graph = product(tmp_path)
    before = graph.read_bytes()
    result = gnarl("run", "dpu_d1_b8", graph, "--backend", "model", "--timeline", graph)
    assert (result.exit_code, graph.read_bytes()) == (2, before)


def test_a_grid_has_no_trace(tmp_path: Path) -> None:
    assert refusal(tmp_path, "run", "cuda_sm90", "model", "--timeline", "x.json") == (
        "gnarl run: --timeline x.json: target cuda draws pictures only, must be a .png file. "
        "See gnarl run --help"
    )

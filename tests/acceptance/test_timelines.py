"""Timelines have the report's numbers, or those of the run that is drawn, and say which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gnarl.sw.runtime.sram_compute.figures import CYCLES
from gnarl.sw.runtime.tmu.figures import ACCESS_WAITS, WAITS
from tests.fuzz.valid_files import NEST_ARRAYS, write_valid_files
from tests.support.commands import gnarl
from tests.support.sam.files import VECTOR

Events = list[dict[str, Any]]

DPU = ("graph.edgelist",)
SAM = (VECTOR, "--tensor", "B=B.mtx", "--tensor", "c=c.tns")
TMU = ("nest.py", *NEST_ARRAYS)
CELLS = ("--tensor", "a=cells.npy")

MODEL_OF_SAM = "simulated cycle by cycle, not on the RTL"
MODEL_OF_TMU = "instructions of the model, which has no cycles: not the time of the RTL"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_valid_files(folder)
    return folder


@pytest.fixture(autouse=True)
def folder(files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(files)
    return files


def traced(*arguments: str) -> tuple[dict[str, Any], str, Events]:
    """The report of a run, and title and events of its timeline; the report is that of a run that
    is not drawn, but for times."""
    plain = gnarl("run", *arguments, "--json")
    drawn = gnarl("run", *arguments, "--json", "--timeline", "timeline.json")
    assert (plain.exit_code, drawn.exit_code) == (0, 0), drawn.stderr
    undrawn, report = json.loads(plain.stdout), json.loads(drawn.stdout)
    for each in (undrawn, report):
        for name in ("seconds", "compile_s", "lower_s", "simulate_s"):
            del each[name]
    assert report == undrawn
    trace = json.loads(Path("timeline.json").read_text())
    events, title = trace["traceEvents"], trace["otherData"]["title"]
    assert events[0]["args"] == {"name": title}
    return report, title, events


def end(events: Events) -> int:
    """The last cycle, at which all counters are 0."""
    last = max(event["ts"] + event.get("dur", 0) for event in events if "ts" in event)
    counters = {event["name"]: event for event in events if event["ph"] == "C"}
    assert all(event["ts"] == last for event in counters.values())
    assert all(set(event["args"].values()) == {0} for event in counters.values())
    return int(last)


def total(events: Events, name: str) -> float:
    """What a counter is over all cycles, added up."""
    counts = [event for event in events if event["ph"] == "C" and event["name"] == name]
    assert counts, name
    return float(
        sum(
            value * (after["ts"] - event["ts"])
            for event, after in zip(counts, counts[1:], strict=False)
            for value in event["args"].values()
        )
    )


def lengths(events: Events) -> dict[str, int]:
    """Cycles of tracks, by their names."""
    added: dict[str, int] = {}
    for event in events:
        if event["ph"] == "X":
            added[event["name"]] = added.get(event["name"], 0) + event["dur"]
    return added


def title_of(report: dict[str, Any], mean: str) -> str:
    return f"{report['workload']} on {report['config']}: {report['cycles']:,} cycles, {mean}"


@pytest.mark.parametrize("backend", ["rtl", "model"])
def test_a_dpus_timeline_is_that_of_the_run(backend: str) -> None:
    report, title, events = traced("dpu_d1_b8", *DPU, "--backend", backend)
    assert title == title_of(report, f"{4 * report['utilisation']:.2f} of 4 PEs busy")
    assert end(events) == report["cycles"]
    assert total(events, "PEs busy") == report["ops"]
    assert sum(lengths(events).values()) == report["statistics"]["instructions"] - 1


@pytest.mark.parametrize("config", ["sam_fp32", "sam_fabric_small"])
def test_sams_timeline_on_the_rtl_is_that_of_the_run(config: str) -> None:
    report, title, events = traced(config, *SAM, "--backend", "rtl")
    assert title == title_of(report, f"{2 * report['utilisation']:.2f} of 2 ALUs busy")
    assert end(events) == report["cycles"]
    assert total(events, "ALUs busy") == pytest.approx(report["ops"])


def test_sams_timeline_on_the_rtl_has_the_tokens_of_the_run() -> None:
    report, _, events = traced("sam_fp32", *SAM)
    tokens = {name: n for name, n in report["counters"].items() if name.startswith("tokens_")}
    streams = len(tokens)
    moved = sum(
        total(events, f"tokens: {kind}, % of {streams} streams")
        for kind in ("values", "coordinates, references")
    )
    assert moved * streams / 100 == pytest.approx(sum(tokens.values()))


def test_sams_timeline_on_the_model_says_so() -> None:
    report, title, events = traced("sam_fp32", *SAM, "--backend", "model")
    mean = f"{2 * report['utilisation']:.2f} of 2 ALUs busy"
    assert title == title_of(report, f"{mean}\n({MODEL_OF_SAM})")
    assert end(events) == report["cycles"]
    assert total(events, "ALUs busy") == report["ops"]


def test_a_tmus_timeline_on_the_rtl_is_that_of_the_run() -> None:
    report, title, events = traced("tmu_l2", *TMU, "--backend", "rtl")
    cycles, counters = report["cycles"], report["counters"]
    queue = "words of the data queue in use"
    mean = counters["words_in_queue"] / cycles
    assert title.startswith(title_of(report, f"{mean:.2f} of "))
    assert title.endswith(f" {queue}")
    assert end(events) == cycles
    assert total(events, queue) == pytest.approx(counters["words_in_queue"])
    for unit, waits in (("execute", WAITS), ("access", ACCESS_WAITS)):
        for label, counter in waits.items():
            name = label if label == "instructions" else f"waits: {label}"
            found = total(events, f"{name}, % of cycles: {unit} unit")
            assert found / 100 == pytest.approx(counters[counter]), name


def test_a_tmus_timeline_on_the_model_is_of_its_instructions() -> None:
    report, title, events = traced("tmu_l2", *TMU, "--backend", "model")
    counters = report["counters"]
    instructions = counters["instructions"] + counters.get("jumps_joined", 0)
    assert title.startswith(f"{report['workload']} on tmu_l2: {instructions:,} instructions, ")
    assert title.endswith(f" of 2 lanes busy\n({MODEL_OF_TMU})")
    assert end(events) == instructions == sum(lengths(events).values())


@pytest.mark.parametrize("backend", ["rtl", "model"])
@pytest.mark.parametrize("workload", ["cells.c", "cells.sram"])
def test_in_sram_timelines_are_those_of_the_run(workload: str, backend: str) -> None:
    arguments = ("sram_b2", workload, *CELLS, "--backend", backend)
    report, title, events = traced(*arguments)
    cycles, counters = report["cycles"], report["counters"]
    busy = total(events, "banks busy") / cycles
    assert title == title_of(report, f"{busy:.2f} of 2 banks busy")
    assert end(events) == cycles
    assert lengths(events) == {
        label: counters[name] for label, name in CYCLES.items() if counters[name]
    }

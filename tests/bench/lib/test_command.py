"""The command line of benchmarks: how much they measure, and where results go."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from bench.lib.command import Benchmark
from bench.lib.pages import SUMMARY, Headline, Intro, Page
from bench.lib.records import Metric, Record, Setting, load, records
from bench.lib.request import Request
from bench.lib.tables import Cells
from manual.markers import marked

PAGE = Page("ABC", "About it.", {"a": Intro("The a", "A.", full="c")}, Headline("a", "", "none"))
METRICS = {"cycles": Metric("cycles", "lower")}
SETTING = Setting("", (), "", 0)


def run(request: Request) -> tuple[list[Record], bool]:
    cases = request.cases(("a", "b"), ("c",))
    return [
        record
        for at, name in enumerate(cases)
        for record in records("abc.a", {"case": name}, {"cycles": at}, METRICS, SETTING)
    ], True


PART = SimpleNamespace(
    run=run,
    tables=lambda found: {"": Cells(["case"], [[each.labels["case"]] for each in found])},
    verdict=lambda found: f"{len(found)} cases",
    draw=lambda found, path: None,
)


def command(full: str = "what takes long") -> click.Command:
    return Benchmark("abc", {"a": PART}, PAGE, full=full).command("Measures.")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text(marked(SUMMARY, "| |\n| --- |"), encoding="utf-8")


def invoke(*arguments: str, **options: Any) -> None:
    result = CliRunner().invoke(command(**options), arguments)
    assert result.exit_code == 0, result.output


def measured(folder: str) -> list[str]:
    return [record.labels["case"] for record in load(Path("build/bench", folder, "abc_a.json"))]


def test_how_many_cases():
    for option, found in (("--quick", "a"), ("--full", "abc")):
        invoke(option)
        assert "".join(measured(option.removeprefix("--"))) == found
    invoke()
    assert measured("") == ["a", "b"]


def test_a_page_has_the_most_that_was_measured():
    page = Path("docs/results/abc.md")
    invoke("a", "page")
    assert "| a |\n| b |\n\n" in page.read_text(encoding="utf-8")
    invoke("--full")
    invoke("a", "page")
    text = page.read_text(encoding="utf-8")
    assert "| a |\n| b |\n| c |\n\n" in text
    assert "A. Only with `--full`: c.\n" in text


def test_few_and_all_are_no_request():
    result = CliRunner().invoke(command(), ["--quick", "--full"])
    assert result.exit_code == 2
    assert "Error: --quick and --full: must be one of them\n" in result.output


def test_a_benchmark_may_have_no_more():
    result = CliRunner().invoke(command(full=""), ["--full"])
    assert result.exit_code == 2
    assert "No such option '--full'" in result.output or "No such option: --full" in result.output

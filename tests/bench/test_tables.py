"""Tables, and sections of files between markers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from bench.lib.records import Metric, Record, ResultsError, Setting, records
from bench.lib.tables import Cells, Intro, provenance, replace_section, section

CELLS = Cells(["workload", "D", "cycles"], [["a", "1", "1,000"], ["b", "2", "7"]], names=2)


def test_markdown():
    assert CELLS.to_markdown() == (
        "| workload | D | cycles |\n| --- | --- | ---: |\n| a | 1 | 1,000 |\n| b | 2 | 7 |"
    )


def test_console():
    console = Console(width=60, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(CELLS.for_console("A title"))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert lines == ["A title", "workload  D  cycles", "a         1   1,000", "b         2       7"]


def test_a_section_has_the_parts_that_have_records_in_the_order_of_their_intros():
    parts = {
        name: SimpleNamespace(
            tables=lambda found, name=name: {"": Cells([name], [[str(found[0].value)]])},
            verdict=lambda found, name=name: f"{name} is well",
        )
        for name in ("a", "b", "c")
    }
    found = {name: measured(at) for at, name in enumerate(("a", "b"))}
    intros = {"c": Intro("C."), "b": Intro("B.", folded=True), "a": Intro("A.")}
    assert section(found, parts, intros) == "\n\n".join(
        [
            "<details><summary>B.</summary>",
            "| b |\n| --- |\n| 1 |",
            "</details>",
            provenance(found["b"], "b is well"),
            "A.",
            "| a |\n| --- |\n| 0 |",
            provenance(found["a"], "a is well"),
        ]
    )


def measured(value: int) -> list[Record]:
    setting = Setting("dpu_d1_b8", (), "", 0)
    return records("bench", {}, {"cycles": value}, {"cycles": Metric("cycles", "lower")}, setting)


def test_only_what_is_between_the_markers_changes(tmp_path: Path):
    path = tmp_path / "R.md"
    path.write_text("above\n<!-- n:begin -->\nold\n<!-- n:end -->\nbelow <!-- m:begin -->\n")
    for text in ("new\nlines\n", "newer"):
        replace_section(path, "n", text)
        assert path.read_text() == (
            f"above\n<!-- n:begin -->\n{text.strip()}\n<!-- n:end -->\nbelow <!-- m:begin -->\n"
        )


@pytest.mark.parametrize(
    "text", ["", "<!-- n:begin -->\n", "<!-- n:end -->\n", "<!-- n:end -->\n<!-- n:begin -->\n"]
)
def test_a_file_without_markers_is_refused_and_stays(tmp_path: Path, text: str):
    path = tmp_path / "R.md"
    path.write_text(text)
    with pytest.raises(ResultsError) as caught:
        replace_section(path, "n", "new")
    assert str(caught.value) == (
        f"{path}: must have a line <!-- n:begin --> and, after it, a line <!-- n:end -->"
    )
    assert path.read_text() == text


def test_an_absent_file_is_refused(tmp_path: Path):
    path = tmp_path / "R.md"
    with pytest.raises(ResultsError) as caught:
        replace_section(path, "n", "new")
    assert str(caught.value) == f"{path}: cannot be read: No such file or directory"

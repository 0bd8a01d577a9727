"""Pages of results, and the table in the README that sums them up."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.lib.pages import README, SUMMARY, Headline, Intro, Page, anchor_of, provenance
from bench.lib.records import ROOT, Metric, Record, Setting, records
from bench.lib.tables import Cells
from manual.markers import MarkerError, marked, read_section

RESULTS = sorted((ROOT / "docs/results").glob("*.md"))

PAGE = Page(
    "ABC",
    "About it.",
    {"c": Intro("The c", "C."), "b": Intro("The b", "B.", folded=True), "a": Intro("The a", "A.")},
    Headline("a", "a is right", "what a should be"),
)
HEADER = "| target | result | reference | all results |\n| --- | --- | --- | --- |\n"


def part(name: str) -> Any:
    return SimpleNamespace(
        tables=lambda found: {"": Cells([name], [[str(found[0].value)]])},
        verdict=lambda found: f"{name} is {found[0].value}\n{name} is right",
    )


PARTS = {name: part(name) for name in ("a", "b", "c")}


def measured(value: int) -> list[Record]:
    setting = Setting("dpu_d1_b8", (), "", 0)
    return records("bench", {}, {"cycles": value}, {"cycles": Metric("cycles", "lower")}, setting)


def test_a_page_has_all_parts_in_order_and_keeps_those_that_were_not_measured() -> None:
    found = {"a": measured(0), "b": measured(1)}
    first = PAGE.text("", found, PARTS)
    assert first == (
        "# Results: ABC\n\nAbout it.\n\n"
        "## The c\n\n<!-- c:begin -->\nNot measured yet.\n<!-- c:end -->\n\n"
        "## The b\n\n<!-- b:begin -->\n<details><summary>B.</summary>\n\n"
        "| b |\n| --- |\n| 1 |\n\n</details>\n\n"
        f"{provenance(found['b'], PARTS['b'].verdict(found['b']))}\n<!-- b:end -->\n\n"
        "## The a\n\n<!-- a:begin -->\nA.\n\n| a |\n| --- |\n| 0 |\n\n"
        f"{provenance(found['a'], PARTS['a'].verdict(found['a']))}\n<!-- a:end -->\n"
    )
    second = PAGE.text(first, {"a": measured(7)}, PARTS)
    changed = first.replace("| 0 |", "| 7 |").replace("a is 0", "a is 7")
    assert second == changed


def test_a_summary_replaces_the_row_of_what_was_measured(tmp_path: Path) -> None:
    readme, page = tmp_path / "README.md", Path("docs/results/abc.md")
    other = "| DPU | fast | the other | [dpu.md](docs/results/dpu.md#the-a) |\n"
    stale = "| ABC | old | what a should be | [abc.md](docs/results/abc.md#the-a) |\n"
    readme.write_text(f"x\n{marked(SUMMARY, HEADER + stale + other)}\ny\n")
    found = {"a": measured(3), "c": measured(4)}
    assert PAGE.with_summary(readme, page, found, PARTS) == (
        f"x\n<!-- results:begin -->\n{HEADER}"
        "| ABC | a is right | what a should be | [abc.md](docs/results/abc.md#the-a) |\n"
        f"{other}<!-- results:end -->\ny\n"
    )
    before = readme.read_text()
    assert PAGE.with_summary(readme, page, {"c": measured(4)}, PARTS) == before


def test_a_summary_adds_a_new_row_behind_the_others(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    other = "| DPU | fast | the other | [dpu.md](docs/results/dpu.md#the-a) |\n"
    readme.write_text(f"{marked(SUMMARY, HEADER + other)}\n")
    text = PAGE.with_summary(readme, Path("abc.md"), {"a": measured(3)}, PARTS)
    assert text == (
        f"<!-- results:begin -->\n{HEADER}{other}"
        "| ABC | a is right | what a should be | [abc.md](abc.md#the-a) |\n"
        "<!-- results:end -->\n"
    )


def test_a_headline_without_a_line_of_its_own_is_the_first() -> None:
    assert Headline("a", "b", "c").line_of("a is 1\nb is 2") == "b is 2"
    assert Headline("a", "c", "c").line_of("a is 1\nb is 2") == "a is 1"


def test_the_anchor_of_a_heading_is_that_of_git_hosts() -> None:
    assert anchor_of("Cycles and bytes") == "cycles-and-bytes"
    assert anchor_of("PointNet++, by Stage") == "pointnet-by-stage"


def test_a_readme_without_a_table_of_results_is_refused(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("x\n")
    with pytest.raises(MarkerError) as caught:
        PAGE.with_summary(readme, Path("docs/results/abc.md"), {"a": measured(3)}, PARTS)
    assert str(caught.value) == (
        f"{readme}: must have a line <!-- results:begin --> and, after it, "
        "a line <!-- results:end -->"
    )


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_what_pages_say_besides_figures_is_up_to_date(path: Path) -> None:
    page = import_module(f"bench.{path.stem}_parts.page").PAGE
    text = path.read_text(encoding="utf-8")
    assert page.text(text, {}, {}) == text, f"run `python -m bench.{path.stem} page`"


def test_the_readme_has_the_headline_of_each_page() -> None:
    measured = {}
    for path in RESULTS:
        page = import_module(f"bench.{path.stem}_parts.page").PAGE
        *verdict, _ = re.findall(r"^- (.*)$", read_section(path, page.headline.part), re.M)
        line = page.headline.line_of("\n".join(verdict))
        assert line.startswith(page.headline.begins)
        measured[page.row(path.relative_to(ROOT), line)] = path
    rows = read_section(ROOT / README, SUMMARY).splitlines()[2:]
    assert sorted(rows) == sorted(measured)

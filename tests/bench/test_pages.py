"""Pages of results, and the table in the README that sums them up."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.lib.pages import README, SUMMARY, Intro, Page, anchor_of, provenance, short_commit
from bench.lib.records import ROOT, Metric, Record, Setting, records
from bench.lib.tables import Cells
from manual.markers import MarkerError, marked, read_section

RESULTS = sorted((ROOT / "docs/results").glob("*.md"))

PAGE = Page(
    "ABC",
    "About it.",
    {"c": Intro("The c", "C."), "b": Intro("The b", "B.", folded=True), "a": Intro("The a", "A.")},
)
HEADER = "| target | measured | results | commit |\n| --- | --- | --- | --- |\n"


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


def test_a_summary_replaces_rows_of_what_was_measured_and_adds_new_ones(tmp_path: Path) -> None:
    readme, page = tmp_path / "README.md", Path("docs/results/abc.md")
    others = "| DPU | [The a](docs/results/dpu.md#the-a) | 1 | `0` |\n"
    stale = "| ABC | [The a](docs/results/abc.md#the-a) | old | `0` |\n"
    readme.write_text(f"x\n{marked(SUMMARY, HEADER + stale + others)}\ny\n")
    found = {"a": measured(3), "c": measured(4)}
    short = short_commit(found["a"][0].commit)
    assert PAGE.with_summary(readme, page, found, PARTS) == (
        f"x\n<!-- results:begin -->\n{HEADER}"
        f"| ABC | [The a](docs/results/abc.md#the-a) | a is 3<br>a is right | `{short}` |\n"
        f"{others}"
        f"| ABC | [The c](docs/results/abc.md#the-c) | c is 4<br>c is right | `{short}` |\n"
        "<!-- results:end -->\ny\n"
    )


def test_the_anchor_of_a_heading_is_that_of_git_hosts() -> None:
    assert anchor_of("Cycles and bytes") == "cycles-and-bytes"
    assert anchor_of("PointNet++, by Stage") == "pointnet-by-stage"


def test_a_short_commit_says_whether_files_had_changed_since() -> None:
    digits = "0123456789abcdef" * 2 + "01234567"
    assert short_commit(digits) == "0123456789ab"
    assert short_commit(f"{digits}-dirty") == "0123456789ab-dirty"


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


def test_the_readme_sums_up_all_that_was_measured() -> None:
    rows = [line.split(" | ") for line in read_section(ROOT / README, SUMMARY).splitlines()[2:]]
    summed_up = {}
    for subject, link, verdict, commit in rows:
        found = re.fullmatch(r"\[(.*)\]\((.*)#.*\)", link)
        assert found
        summed_up[subject.removeprefix("| "), found[1]] = (
            found[2],
            verdict,
            re.findall(r"`(.*?)`", commit),
        )
    measured = {}
    for path in RESULTS:
        page = import_module(f"bench.{path.stem}_parts.page").PAGE
        for name, intro in page.intros.items():
            section = read_section(path, name)
            if section == "Not measured yet.\n":
                continue
            *verdict, last = re.findall(r"^- (.*)$", section, re.M)
            commits = [
                short_commit(each) for each in re.findall(r"`(.*?)`", last.partition(";")[0])
            ]
            where = path.relative_to(ROOT).as_posix()
            measured[page.subject, intro.title] = (where, "<br>".join(verdict), commits)
    assert summed_up == measured

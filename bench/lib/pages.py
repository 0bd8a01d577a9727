"""The pages of results in ``docs/results``, and the table in the README that sums them up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.lib.records import Record
from manual.markers import find_section, marked, read_section, with_sections

README = Path("README.md")
SUMMARY = "results"
"""The section of the README that has a row for each page."""

_HEADER = "| target | result | reference | all results |\n| --- | --- | --- | --- |"


@dataclass(frozen=True)
class Intro:
    """What a page says of a part of a benchmark.

    title
        its heading there.
    text
        stands above the tables, which unfold on a click if ``folded``.
    full
        what only ``--full`` measures, if there is something.
    """

    title: str
    text: str
    folded: bool = False
    full: str = ""


@dataclass(frozen=True)
class Headline:
    """The one result of a benchmark that the README shows.

    part
        its part of the benchmark.
    begins
        the beginning of its line of the verdict; the first line if there is no such line.
    reference
        what it is compared with.
    """

    part: str
    begins: str
    reference: str

    def line_of(self, verdict: str) -> str:
        """Its line of a verdict."""
        lines = verdict.splitlines()
        return next((line for line in lines if line.startswith(self.begins)), lines[0])


@dataclass(frozen=True)
class Page:
    """The page of a benchmark of ``subject``: ``about`` stands below the title, then all parts."""

    subject: str
    about: str
    intros: Mapping[str, Intro]
    headline: Headline

    def text(
        self, old: str, found: Mapping[str, Sequence[Record]], parts: Mapping[str, Any]
    ) -> str:
        """The whole page; parts without records in ``found`` stay as they are on the ``old`` one.

        ``parts``: modules, as ``bench.lib.command`` has them.
        """
        blocks = [f"# Results: {self.subject}", self.about]
        for name, intro in self.intros.items():
            if records := found.get(name):
                body = _section(intro, records, parts[name])
            else:
                body = find_section(old, name) or "Not measured yet."
            blocks += [f"## {intro.title}", marked(name, body)]
        return "\n\n".join(blocks) + "\n"

    def with_summary(
        self,
        readme: Path,
        page: Path,
        found: Mapping[str, Sequence[Record]],
        parts: Mapping[str, Any],
    ) -> str:
        """The text of ``readme``, with the row of this page if its headline was ``found``; all
        other rows stay.

        Raises ``MarkerError`` if it has no table of results.
        """
        lines = read_section(readme, SUMMARY).splitlines()
        rows = {_subject(line): line for line in lines[2:]}
        headline = self.headline
        if records := found.get(headline.part):
            line = headline.line_of(parts[headline.part].verdict(records))
            rows[self.subject] = self.row(page, line)
        return with_sections(readme, {SUMMARY: "\n".join([_HEADER, *rows.values()])})

    def row(self, page: Path, line: str) -> str:
        """The row of the README's table with the headline's ``line``."""
        name = page.as_posix()
        anchor = anchor_of(self.intros[self.headline.part].title)
        link = f"[{page.name}]({name}#{anchor})"
        return f"| {self.subject} | {line} | {self.headline.reference} | {link} |"


def anchor_of(title: str) -> str:
    """The anchor that Git hosts give a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def provenance(records: Sequence[Record], verdict: str) -> str:
    """A list of a verdict's lines, and of what the figures were measured with."""
    first = records[0]
    tools = ", ".join(f"{name} {text}" for name, text in first.tools.items() if name != "cpu")
    commits = _commits(records)
    lines = [*verdict.splitlines(), f"commit {commits}; {tools}; {first.tools['cpu']}"]
    return "\n".join(f"- {line}" for line in lines)


def _section(intro: Intro, records: Sequence[Record], part: Any) -> str:
    """A part's text, tables and provenance, as Markdown."""
    tables = [cells.to_markdown() for cells in part.tables(records).values()]
    text = f"{intro.text} Only with `--full`: {intro.full}." if intro.full else intro.text
    if intro.folded:
        summary = f"<details><summary>{text}</summary>"
        blocks = [summary, *tables, "</details>"]
    else:
        blocks = [text, *tables]
    return "\n\n".join([*blocks, provenance(records, part.verdict(records))])


def _commits(records: Sequence[Record]) -> str:
    """The commits of the figures; resumed runs may have several."""
    return ", ".join(f"`{commit}`" for commit in dict.fromkeys(one.commit for one in records))


def _subject(row: str) -> str:
    """The subject of a row of the README's table."""
    return row.removeprefix("| ").partition(" | ")[0]

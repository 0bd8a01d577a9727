"""Tables for consoles and for Markdown, from the same cells; sections of files between markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from bench.lib.records import Record, ResultsError
from sw.program.atomic import write_text


@dataclass(frozen=True)
class Cells:
    """Texts: ``header`` [n], and ``body``, each of whose rows is [n]; the first ``names`` columns
    are names, the others figures."""

    header: Sequence[str]
    body: Sequence[Sequence[str]]
    names: int = 1

    def for_console(self, title: str) -> Table:
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for at, name in enumerate(self.header):
            table.add_column(name, justify="left" if at < self.names else "right")
        for row in self.body:
            table.add_row(*row)
        return table

    def to_markdown(self) -> str:
        rule = ["---" if at < self.names else "---:" for at in range(len(self.header))]
        lines = [self.header, rule, *self.body]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True)
class Intro:
    """The text above the tables of a benchmark's part, which unfold on a click if ``folded``."""

    text: str
    folded: bool = False


def provenance(found: Sequence[Record], verdict: str) -> str:
    """A list of a verdict's lines, and of what the figures were measured with."""
    first = found[0]
    tools = ", ".join(f"{name} {text}" for name, text in first.tools.items() if name != "cpu")
    lines = [*verdict.splitlines(), f"commit `{first.commit}`; {tools}; {first.tools['cpu']}"]
    return "\n".join(f"- {line}" for line in lines)


def section(
    found: Mapping[str, Sequence[Record]], parts: Mapping[str, Any], intros: Mapping[str, Intro]
) -> str:
    """A section of Markdown: for each of ``intros`` whose part has records, its text, tables and
    provenance. ``parts``: modules, as ``bench.lib.command`` has them."""
    blocks = []
    for name, intro in intros.items():
        if records := found.get(name):
            tables = [cells.to_markdown() for cells in parts[name].tables(records).values()]
            if intro.folded:
                summary = f"<details><summary>{intro.text}</summary>"
                blocks += [summary, *tables, "</details>"]
            else:
                blocks += [intro.text, *tables]
            blocks.append(provenance(records, parts[name].verdict(records)))
    return "\n\n".join(blocks)


def replace_section(path: Path, name: str, text: str) -> None:
    """Puts ``text`` between the lines ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->`` of a file.

    Raises ``ResultsError`` if it lacks them.
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror}") from error
    before, found, rest = content.partition(f"{begin}\n")
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ResultsError(f"{path}: must have a line {begin} and, after it, a line {end}")
    write_text(path, f"{before}{begin}\n{text.strip()}\n{end}{after}")

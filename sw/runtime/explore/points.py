"""Points with their results: one JSON object, a table of a spreadsheet, a page for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gnarl.sw.runtime.explore.pareto import Cost, front
from gnarl.sw.runtime.explore.point_run import AREA, REPORTED

VERSION = 1
"""Version of the JSON object's fields; rises when one changes its meaning or goes."""

JSON_FIELDS = {
    "version": "of these fields; rises when one changes its meaning or goes",
    "config": "the configuration's name",
    "workload": "as the command line has it",
    "backend": "what the points ran on",
    "fields": "array: the fields that are swept",
    "costs": "array: what points are compared by, lower is better: `cycles`; with `--area` also "
    "`gates` and `memory_bits`",
    "points": "array: of each point, in order, an object: its values by field (`point`); fields of "
    "`gnarl run --json`, of which one that did not run has none; `area`, without `--area` null, or "
    "an object: figures of `gnarl area --json`, an estimate before layout; `error`, why it did not "
    "run, or null; `warnings`, array of what its inputs were warned of; `pareto`, whether no other "
    "point has as little of every cost and less of one",
}
"""What each field of the JSON object is."""

MARK = "◆"


@dataclass(frozen=True)
class Points:
    """The points of a sweep, in order.

    config, workload, backend
        what ran where.
    fields
        that are swept.
    has_area
        whether area was asked for.
    values, results
        of each point: its values by field, and what it gave.
    """

    config: str
    workload: str
    backend: str
    fields: Sequence[str]
    has_area: bool
    values: Sequence[Mapping[str, Any]]
    results: Sequence[Mapping[str, Any]]

    @property
    def costs(self) -> tuple[str, ...]:
        """Names of what points are compared by."""
        return ("cycles", "gates", "memory_bits") if self.has_area else ("cycles",)

    @property
    def matches(self) -> bool:
        """Whether every output of every point that ran is what it must be."""
        return all(result.get("matches", True) for result in self.results)

    def pareto(self) -> list[bool]:
        """Whether each point is dominated by none; wrong results and unknown costs are not."""
        return front([self._cost(result) for result in self.results])

    def _cost(self, result: Mapping[str, Any]) -> Cost | None:
        figures = {**result, **(result.get("area") or {})}
        found = [figures.get(name) for name in self.costs]
        if not result.get("matches") or None in found:
            return None
        return tuple(each for each in found if each is not None)

    def to_json(self) -> dict[str, Any]:
        """The JSON object of ``--json`` and points.json."""
        rows = zip(self.values, self.results, self.pareto(), strict=True)
        return {
            "version": VERSION,
            "config": self.config,
            "workload": self.workload,
            "backend": self.backend,
            "fields": list(self.fields),
            "costs": list(self.costs),
            "points": [
                {"point": dict(values), **result, "pareto": is_best}
                for values, result, is_best in rows
            ],
        }

    def to_csv(self) -> str:
        """A line a point, and one of names; nothing stands for what a point lacks."""
        names = [*REPORTED, *(AREA if self.has_area else ()), "error"]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.fields, *names, "pareto"])
        for values, result, is_best in zip(self.values, self.results, self.pareto(), strict=True):
            figures = {**result, **(result.get("area") or {})}
            cells = [figures.get(name) for name in names]
            writer.writerow([*(values[field] for field in self.fields), *cells, is_best])
        return text.getvalue()

    def print(self, console: Console) -> None:
        """The page: a table, and why points did not run."""
        console.print(Text.assemble("\n", (self.workload, "bold"), f" on {self.config}"))
        console.print(self._table(), crop=False)
        for values, result in zip(self.values, self.results, strict=True):
            problem = result["error"] or result.get("difference")
            if problem:
                text = Text(f"✘ {point_name(values)}: {problem}", "bold red")
                console.print(text, soft_wrap=True)
        for line in self._notes():
            console.print(line, highlight=False, soft_wrap=True)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False)
        names = ["cycles", "ops a cycle", "ops a byte"]
        names += ["gates", "memory bits"] if self.has_area else []
        for name in ["", *self.fields, *names, "results"]:
            table.add_column(name, justify="right" if name in names else "left", no_wrap=True)
        for values, result, is_best in zip(self.values, self.results, self.pareto(), strict=True):
            cells = [str(values[field]) for field in self.fields]
            table.add_row(MARK if is_best else "", *cells, *self._figures(result), _verdict(result))
        return table

    def _figures(self, result: Mapping[str, Any]) -> list[str]:
        area = result.get("area") or {}
        cells = [
            _number(result.get("cycles"), ",d"),
            _number(result.get("ops_per_cycle"), ".2f"),
            _number(result.get("intensity"), ".3f"),
        ]
        if self.has_area:
            cells += [_number(area.get("gates"), ",.0f"), _number(area.get("memory_bits"), ",d")]
        return cells

    def _notes(self) -> list[str]:
        ran = [result for result in self.results if not result["error"]]
        notes = []
        if any(result["cycles"] is None for result in ran):
            notes.append(f"Backend {self.backend} counts no cycles here: no point is marked.")
        else:
            fewest = "as few cycles, gates and memory bits, and fewer of one"
            what = fewest if self.has_area else "fewer cycles"
            notes.append(f"{MARK}: no other point has {what}.")
        if self.has_area:
            stage = "an estimate before layout, as gnarl area gives it"
            notes.append(f"Gates and memory bits: {stage}; gates are without memories.")
        return [*notes, ""]


def point_name(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _number(value: float | None, how: str) -> str:
    return "" if value is None else format(value, how)


def _verdict(result: Mapping[str, Any]) -> Text:
    if result["error"]:
        return Text("✘ did not run", "red")
    if not result["matches"]:
        return Text("✘ different", "bold red")
    return Text("✔ bit-exact" if result["bit_exact"] else "✔ within its bound", "green")

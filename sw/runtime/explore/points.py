"""Points with their results: one JSON object, a table of a spreadsheet, a page for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from gnarl.sw.runtime.explore.outcome import LEFT_OUT
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
    "board": "the board of `--board`, or null",
    "costs": "array: what points are compared by, lower is better: `cycles`; with `--area` also "
    "`gates` and `memory_bits`, else with `--search` also `blocks`; with `--board` instead "
    "`microseconds` and `luts` of what is placed",
    "points": "array: of each point, in order, an object: its values by field (`point`); fields of "
    "`gnarl run --json`, of which one that did not run has none; `area`, without `--area` null, or "
    "an object: figures of `gnarl area --json`, an estimate before layout; `board`, without "
    "`--board` null, or an object: `estimate`, an object of `luts`, `flip_flops`, `dsps` and "
    "`block_rams` as `gnarl fpga --list` estimates them, or null; `placed`, null, or an object of "
    "the same after placement and routing, of `clock_hz`, which the design works with, `goal_hz`, "
    "which was asked for, and of `microseconds`, the run's cycles at `clock_hz`; `error`, why the "
    "board has no such figures, or null; `error`, why it did not "
    "run, or null; `warnings`, array of what its inputs were warned of; `pareto`, whether no other "
    "point has as little of every cost and less of one; with `--search` also `schedule`, its file, "
    "`estimate`, an object of `cycles`, `ops`, `bytes` as estimated and of the `blocks` of its "
    "largest graph, and `left_out`, true for one that was not run but estimated",
}
"""What each field of the JSON object is."""

ESTIMATED = ("cycles", "ops", "bytes", "blocks")
"""Figures of a point's estimate."""

BOARD = ("estimated_luts", "luts", "clock_mhz", "microseconds", "board_error")
"""Columns of a spreadsheet that are of a board; those between the outer two after placement."""

MARK = "◆"

_LONG = 20
"""Characters of a value that is long."""

_WIDE = 1000
"""Columns of a table, at most: in a narrower page its values would be cut."""


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
    board
        the board that figures were asked for, or ``None``.
    """

    config: str
    workload: str
    backend: str
    fields: Sequence[str]
    has_area: bool
    values: Sequence[Mapping[str, Any]]
    results: Sequence[Mapping[str, Any]]
    board: str | None = None

    @property
    def has_schedules(self) -> bool:
        """Whether points have schedules, which are estimated."""
        return any("estimate" in result for result in self.results)

    @property
    def costs(self) -> tuple[str, ...]:
        """Names of what points are compared by."""
        if self.board is not None:
            return "microseconds", "luts"
        if self.has_area:
            return "cycles", "gates", "memory_bits"
        return ("cycles", "blocks") if self.has_schedules else ("cycles",)

    @property
    def matches(self) -> bool:
        """Whether every output of every point that ran is what it must be."""
        return all(result.get("matches", True) for result in self.results)

    def pareto(self) -> list[bool]:
        """Whether each point is dominated by none; wrong results and unknown costs are not."""
        return front([self._cost(result) for result in self.results])

    def _cost(self, result: Mapping[str, Any]) -> Cost | None:
        figures = {
            **_blocks(result),
            **result,
            **(result.get("area") or {}),
            **placed_figures(result),
        }
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
            "board": self.board,
            "costs": list(self.costs),
            "points": [
                {"point": dict(values), **result, "pareto": is_best}
                for values, result, is_best in rows
            ],
        }

    def to_csv(self) -> str:
        """A line a point, and one of names; nothing stands for what a point lacks."""
        names = [*REPORTED, *(AREA if self.has_area else ())]
        names += [*(BOARD if self.board is not None else ()), "error"]
        estimated = ESTIMATED if self.has_schedules else ()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        titles = [f"estimated_{name}" for name in estimated]
        added = [*titles, "schedule", LEFT_OUT] if estimated else []
        writer.writerow([*self.fields, *names, "pareto", *added])
        for values, result, is_best in zip(self.values, self.results, self.pareto(), strict=True):
            figures = {**result, **(result.get("area") or {}), **_board_figures(result)}
            cells = [figures.get(name) for name in names]
            more: list[Any] = []
            if estimated:
                estimate = result.get("estimate", {})
                more = [estimate.get(name) for name in estimated]
                more += [result.get("schedule"), result.get(LEFT_OUT, False)]
            writer.writerow([*(values[field] for field in self.fields), *cells, is_best, *more])
        return text.getvalue()

    def print(self, console: Console) -> None:
        """The page: a table, and why points did not run."""
        console.print(Text.assemble("\n", (self.workload, "bold"), f" on {self.config}"))
        table = self._table()
        wide = console.options.update(max_width=_WIDE)
        table.width = Measurement.get(console, wide, table).maximum
        console.print(table, crop=False)
        for values, result in zip(self.values, self.results, strict=True):
            problem = result["error"] or result.get("difference")
            if problem:
                text = Text(f"✘ {point_name(values)}: {problem}", "bold red")
                console.print(text, soft_wrap=True)
        for problem in self._board_problems():
            console.print(Text(f"✘ {problem}", "yellow"), soft_wrap=True)
        for line in self._notes():
            console.print(line, highlight=False, soft_wrap=True)

    def _board_problems(self) -> list[str]:
        """Why points have no figures of the board, each reason once."""
        points: dict[str, list[str]] = {}
        for values, result in zip(self.values, self.results, strict=True):
            if problem := (result.get("board") or {}).get("error"):
                points.setdefault(problem, []).append(point_name(values))
        return [
            f"{names[0] if len(names) == 1 else f'{len(names)} points'} on {self.board}: {problem}"
            for problem, names in points.items()
        ]

    def _table(self) -> Table:
        """A row for each point that ran or was to; long values have letters."""
        table = Table(box=None, pad_edge=False)
        names = ["cycles", "ops a cycle", "ops a byte"]
        if self.has_schedules:
            names = ["estimate", "blocks", "cycles"]
        names += ["gates", "memory bits"] if self.has_area else []
        names += ["LUTs, estimate", "LUTs", "MHz", "µs"] if self.board is not None else []
        letters = self._letters()
        first = ["", *(["no."] if self.has_schedules else []), *self.fields]
        for name in [*first, *names, "results"]:
            table.add_column(name, justify="right" if name in names else "left", no_wrap=True)
        for values, result, is_best in zip(self.values, self.results, self.pareto(), strict=True):
            if not result.get(LEFT_OUT) or self._none_ran:
                cells = [Path(result["schedule"]).stem] if self.has_schedules else []
                for field in self.fields:
                    text = str(values[field])
                    cells.append(letters.get(field, {}).get(text, text))
                mark = MARK if is_best else ""
                table.add_row(mark, *cells, *self._figures(result), _verdict(result))
        return table

    def _letters(self) -> dict[str, dict[str, str]]:
        """Letters for the values of schedules' fields of which some are long."""
        found: dict[str, dict[str, str]] = {}
        for field in self.fields:
            values = list(dict.fromkeys(str(each[field]) for each in self.values))
            if self.has_schedules and max(map(len, values)) > _LONG and len(values) <= 26:
                found[field] = dict(zip(values, ascii_lowercase, strict=False))
        return found

    @property
    def _none_ran(self) -> bool:
        return all(result.get(LEFT_OUT) or result["error"] for result in self.results)

    def _figures(self, result: Mapping[str, Any]) -> list[str]:
        area = result.get("area") or {}
        cycles, intensity = result.get("cycles"), result.get("intensity")
        if self.has_schedules:
            estimate = result.get("estimate", {})
            cells = [_number(estimate.get(name), ",d") for name in ("cycles", "blocks")]
            cells.append(_number(cycles, ",d"))
        else:
            rate = _number(result.get("ops_per_cycle"), ".2f")
            cells = [_number(cycles, ",d"), rate, _number(intensity, ".3f")]
        if self.has_area:
            cells += [_number(area.get("gates"), ",.0f"), _number(area.get("memory_bits"), ",d")]
        if self.board is not None:
            board = _board_figures(result)
            formats = {"estimated_luts": ",d", "luts": ",d", "clock_mhz": ".1f"}
            formats["microseconds"] = ",.2f"
            cells += [_number(board.get(name), how) for name, how in formats.items()]
        return cells

    def _notes(self) -> list[str]:
        ran = [each for each in self.results if not each["error"] and not each.get(LEFT_OUT)]
        notes = []
        if not ran:
            notes.append("Nothing ran: no point is marked.")
        elif any(result["cycles"] is None for result in ran):
            notes.append(f"Backend {self.backend} counts no cycles here: no point is marked.")
        elif self.board is not None and not any(map(placed_figures, ran)):
            notes.append(f"None is placed on {self.board}: no point is marked.")
        else:
            what = "fewer cycles"
            if len(self.costs) > 1:
                costs = " and ".join(", ".join(map(_name, self.costs)).rsplit(", ", 1))
                what = f"as few {costs}, and fewer of one"
            notes.append(f"{MARK}: no other point has {what}.")
        if self.has_schedules:
            out = sum(result.get(LEFT_OUT, False) for result in self.results)
            count = len(self.results)
            notes.append(f"{out} of {count} points were not run, only estimated: see the files.")
        for field, letters in self._letters().items():
            notes += [f"{field} {letter}: {value}" for value, letter in letters.items()]
        if self.has_area:
            stage = "an estimate before layout, as gnarl area gives it"
            notes.append(f"Gates and memory bits: {stage}; gates are without memories.")
        if self.board is not None:
            notes.append(
                f"LUTs, MHz and µs: placed and routed for {self.board}; marks compare points that "
                "have them. Without --place-all these are those that no other is taken to dominate "
                "by cycles and estimated LUTs."
            )
            notes.append("LUTs, estimate: before synthesis, as gnarl fpga --list gives it.")
        return [*notes, ""]


def _blocks(result: Mapping[str, Any]) -> dict[str, int]:
    return {"blocks": result["estimate"]["blocks"]} if "estimate" in result else {}


def placed_figures(result: Mapping[str, Any]) -> dict[str, Any]:
    """Of a board, after placement; empty where there are none."""
    return (result.get("board") or {}).get("placed") or {}


def _board_figures(result: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of ``BOARD``, as far as the point has them."""
    board = result.get("board")
    if board is None:
        return {}
    found = {"board_error": board["error"]}
    if board["estimate"] is not None:
        found["estimated_luts"] = board["estimate"]["luts"]
    placed = placed_figures(result)
    if placed:
        found |= {name: placed[name] for name in ("luts", "microseconds")}
        found["clock_mhz"] = round(placed["clock_hz"] / 1e6, 3)
    return found


def board_text(board: Mapping[str, Any]) -> str:
    """What is known of a point on a board, in a few words."""
    if board["error"] is not None:
        return board["error"]
    if placed := board["placed"]:
        clock, time = f"{placed['clock_hz'] / 1e6:.1f} MHz", f"{placed['microseconds']:,.2f} µs"
        return f"{placed['luts']:,} LUTs, {clock}, {time}"
    return f"about {board['estimate']['luts']:,} LUTs"


def _name(cost: str) -> str:
    return {"luts": "LUTs"}.get(cost, cost.replace("_", " "))


def point_name(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _number(value: float | None, how: str) -> str:
    return "" if value is None else format(value, how)


def _verdict(result: Mapping[str, Any]) -> Text:
    if result["error"]:
        return Text("✘ did not run", "red")
    if result.get(LEFT_OUT):
        return Text("– estimated", "dim")
    if not result["matches"]:
        return Text("✘ different", "bold red")
    return Text("✔ bit-exact" if result["bit_exact"] else "✔ within its bound", "green")

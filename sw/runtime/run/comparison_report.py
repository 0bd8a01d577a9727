"""A comparison's report: one JSON object for programs, a table and a picture for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gnarl.sw.runtime.report.report import Report
from gnarl.sw.runtime.report.timeline import PALETTE, save_figure, set_title
from gnarl.sw.runtime.run.comparison import Comparison
from gnarl.sw.workloads.made_up import made_up_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERSION = 1
"""Version of the JSON object's fields; rises when one changes its meaning or goes."""

JSON_FIELDS = {
    "version": "of these fields; rises when one changes its meaning or goes",
    "workload": "the workload's name",
    "golden": "the configuration whose golden model gave the results that all are compared with: "
    "the first",
    "matches": "whether every output of every run is what it must be; the exit status says the "
    "same",
    "runs": "array: of each configuration, in order, the object of `gnarl run --json`. "
    "`bit_exact`, `difference` and `max_rel_error` are against that golden model",
}
"""What each field of the JSON object is."""

_COLUMNS: Mapping[str, Literal["left", "right"]] = {
    "": "left",
    "backend": "left",
    "cycles": "right",
    "times": "right",
    "ops a cycle": "right",
    "busy": "right",
    "results": "left",
    "error": "right",
}
"""What the table shows, and to which side."""

_SIZE = (9.0, 1.6)
"""Inches, and for each run ``_ROW`` more of height."""

_ROW = 0.4


def to_json(comparison: Comparison) -> dict[str, Any]:
    """The JSON object of ``--json``."""
    first = comparison.reports[0]
    return {
        "version": VERSION,
        "workload": first.workload,
        "golden": first.config,
        "matches": comparison.matches,
        "runs": [report.to_json() for report in comparison.reports],
    }


def print_comparison(comparison: Comparison, console: Console) -> None:
    """The table for people: cycles as such, and as multiples of the fewest, or an estimate of the
    time in their place; errors are against float64."""
    reports = comparison.reports
    table = Table(box=None, pad_edge=False)
    for title, side in _COLUMNS.items():
        table.add_column(title, justify=side, no_wrap=bool(title), overflow="fold")
    fewest = min((report.cycles for report in reports if report.cycles), default=0)
    for report in reports:
        table.add_row(*_cells(report, fewest))
    console.print(Text.assemble("\n", (reports[0].workload, "bold")), soft_wrap=True)
    console.print(table)
    for report in reports:
        if not report.matches:
            text = f"✘ {report.config}: {report.verification.difference}"
            console.print(Text(text, "bold red"), soft_wrap=True)
        if report.note:
            console.print(f"{report.config}: {report.note}")
        if report.figures.estimate is not None:
            text = report.figures.estimate.described()
            console.print(f"{report.config}: {text}", soft_wrap=True, highlight=False)
        for warning in report.warnings():
            console.print(Text(f"! {report.config}: {warning}", "yellow"), soft_wrap=True)
    for text in dict.fromkeys(made_up_text(report.made_up) for report in reports):
        if text:
            console.print(f"Made up: {text}", soft_wrap=True, highlight=False)
    console.print(f"Results are compared with the golden model of {reports[0].config}.\n")


def _cells(report: Report, fewest: int) -> list[str | Text]:
    cycles, rate, busy = report.cycles, report.ops_per_cycle, report.utilisation
    overrides = "".join(f" {name}={value}" for name, value in report.overrides.items())
    how = f"{report.sign} {'bit-exact' if report.verification.bit_exact else 'close'}"
    error = report.verification.max_rel_error
    style = "yellow" if report.verification.lost else "green"
    return [
        Text(report.config + overrides, "bold"),
        report.backend,
        str(report.figures.estimate or "") if cycles is None else f"{cycles:,}",
        "" if cycles is None else f"{cycles / fewest:.2f}",
        "" if rate is None else f"{rate:.2f}",
        "" if busy is None else f"{100 * busy:.1f} %",
        Text(how, style) if report.matches else Text("✘ different", "bold red"),
        "none" if math.isnan(error) else f"{error:.1e}",
    ]


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Writes a PNG, whole or not at all: bars of cycles and of operations, one a configuration."""
    # Not at the top: it takes half a second, which no other command should wait for.
    from matplotlib.figure import Figure

    reports = comparison.reports
    width, height = _SIZE
    figure = Figure(figsize=(width, height + _ROW * len(reports)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw(left, "cycles", {report.config: report.cycles for report in reports})
    _draw(
        right,
        "operations, as each target counts them",
        {report.config: report.figures.operations for report in reports},
    )
    left.invert_yaxis()
    # Names of files may have bytes that are no characters, which pictures cannot show.
    set_title(left, reports[0].workload.encode(errors="replace").decode())
    save_figure(figure, path, grid="x")


def _draw(axes: Axes, what: str, counts: dict[str, int | None]) -> None:
    drawn = axes.barh(
        range(len(counts)), [count or 0 for count in counts.values()], color=PALETTE[0]
    )
    labels = ["not counted" if count is None else f"{count:,}" for count in counts.values()]
    axes.bar_label(drawn, labels, padding=3, fontsize=9)
    axes.set(xlabel=what, yticks=range(len(counts)), yticklabels=list(counts))
    axes.margins(x=0.25)
    axes.set_xlim(left=0)

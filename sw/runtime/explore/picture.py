"""A picture of a sweep: what each point takes of time and hardware."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import short
from gnarl.sw.runtime.explore.outcome import LEFT_OUT
from gnarl.sw.runtime.explore.points import Points, point_name
from gnarl.sw.runtime.report.timeline import PALETTE, save_figure, set_title
from gnarl.sw.runtime.run.device import run_name

_SIZE = (8.0, 5.0)
"""Inches."""

_ROW = 0.28
"""Inches of height for each bar."""

_MOST_BARS = 60
"""Beyond which bars have no names."""

_MOST_NAMES = 20
"""Beyond which marked points have no names."""

_LONGEST_NAME = 60
"""Characters of a bar's name, at most."""


def draw_points(points: Points, path: Path) -> None:
    """Writes a PNG, whole or not at all: cycles over gates where all costs are known, over blocks
    where there are schedules, and else cycles as bars; for a board cycles over estimates on the
    left, and time over what is placed on the right. Points that none dominates have another
    colour."""
    # Not at the top: it takes half a second, which no other command should wait for.
    from matplotlib.figure import Figure

    rows = points.to_json()["points"]
    known = [row for row in rows if row.get("cycles") is not None]
    measured = [row for row in known if row["area"]]
    height = _SIZE[1] if measured else 1.6 + _ROW * min(len(known), _MOST_BARS)
    figure = Figure(figsize=(_SIZE[0], height), layout="constrained")
    if points.board is not None:
        figure.set_size_inches(2 * _SIZE[0], _SIZE[1])
        axes, placed = figure.subplots(1, 2)
        _estimates(axes, points.board, known)
        _placed(placed, points.board, known)
    else:
        axes = figure.subplots()
        if measured:
            _areas(axes, measured)
        elif points.has_schedules:
            figure.set_size_inches(*_SIZE)
            _schedules(axes, rows)
        else:
            _bars(axes, known)
    set_title(axes, run_name(points.workload, points.config))
    save_figure(figure, path, grid="x" if axes.yaxis_inverted() else "y")


def _areas(axes: Any, rows: list[dict[str, Any]]) -> None:
    _scatter(
        axes,
        rows,
        [
            ("other points", lambda row: not row["pareto"], PALETTE[2]),
            (
                "no other has as few cycles, gates and memory bits",
                lambda row: row["pareto"],
                PALETTE[3],
            ),
        ],
        lambda row: (row["area"]["gates"], row["cycles"]),
    )
    axes.set(xlabel="gates, without memories: an estimate before layout", ylabel="cycles")
    _from_zero(axes)


def _estimates(axes: Any, board: str, rows: list[dict[str, Any]]) -> None:
    """Cycles over look-up tables by estimate, of all points that have one."""
    _scatter(
        axes,
        [row for row in rows if row["board"] and row["board"]["estimate"]],
        [
            ("not placed", lambda row: not row["board"]["placed"], "none"),
            ("placed", lambda row: row["board"]["placed"], PALETTE[2]),
        ],
        lambda row: (row["board"]["estimate"]["luts"], row["cycles"]),
    )
    axes.set(xlabel=f"LUTs of {board}: an estimate before synthesis", ylabel="cycles")
    _from_zero(axes)


def _placed(axes: Any, board: str, rows: list[dict[str, Any]]) -> None:
    """Time over look-up tables, of points that are placed and routed."""
    _scatter(
        axes,
        [row for row in rows if row["board"] and row["board"]["placed"]],
        [
            ("other points", lambda row: not row["pareto"], PALETTE[2]),
            ("no other has as little time and as few LUTs", lambda row: row["pareto"], PALETTE[3]),
        ],
        lambda row: (row["board"]["placed"]["luts"], row["board"]["placed"]["microseconds"]),
    )
    axes.set(xlabel=f"LUTs of {board}, placed and routed", ylabel="µs, at the clock that is met")
    _from_zero(axes)


def _schedules(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Cycles over blocks, both in powers; those of points that did not run as estimated."""
    _scatter(
        axes,
        rows,
        [
            ("not run, estimated", lambda row: row.get(LEFT_OUT), "none"),
            ("ran", lambda row: row.get("cycles") and not row["pareto"], PALETTE[2]),
            ("ran, no other has as few cycles and blocks", lambda row: row["pareto"], PALETTE[3]),
        ],
        lambda row: (row["estimate"]["blocks"], row.get("cycles") or row["estimate"]["cycles"]),
        lambda row: Path(row["schedule"]).stem,
    )
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel="blocks of the largest graph", ylabel="cycles")


_Row = dict[str, Any]


def _scatter(
    axes: Any,
    rows: list[_Row],
    groups: list[tuple[str, Callable[[_Row], Any], str]],
    place: Callable[[_Row], tuple[float, float]],
    name: Callable[[_Row], str] = lambda row: point_name(row["point"]),
) -> None:
    """Points in groups, each with its label, who is in it and its colour; those that none dominates
    with their names, unless they are many."""
    for label, is_in, color in groups:
        places = [place(row) for row in rows if is_in(row)]
        across, up = [each[0] for each in places], [each[1] for each in places]
        axes.scatter(across, up, color=color, edgecolor="#555555", linewidth=0.6, label=label)
    marked = [row for row in rows if row["pareto"]]
    for row in marked if len(marked) <= _MOST_NAMES else ():
        axes.annotate(
            name(row),
            place(row),
            xytext=(5, 5),
            textcoords="offset points",
            fontsize=8,
            parse_math=False,
        )
    axes.legend(frameon=False, fontsize=9)


def _from_zero(axes: Any) -> None:
    axes.margins(x=0.2, y=0.1)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)


def _bars(axes: Any, rows: list[dict[str, Any]]) -> None:
    places = range(len(rows))
    colors = [PALETTE[3] if row["pareto"] else PALETTE[2] for row in rows]
    drawn = axes.barh(places, [row["cycles"] for row in rows], color=colors)
    if len(rows) <= _MOST_BARS:
        names = [short(point_name(row["point"]), _LONGEST_NAME) for row in rows]
        axes.bar_label(drawn, [f"{row['cycles']:,}" for row in rows], padding=3, fontsize=9)
        axes.set_yticks(places, names, parse_math=False)
    else:
        axes.set(ylabel="points, in order", yticks=[])
    axes.set(xlabel="cycles; orange: no other point has fewer" if rows else "no point has cycles")
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlim(left=0)

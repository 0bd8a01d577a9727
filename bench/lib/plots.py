"""How the benchmarks' pictures look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gnarl.sw.program.atomic import atomic_path

PALETTE = ("#1f6f8b", "#e09f3e", "#7a9e5f", "#b56576", "#99cbd9", "#5c5c5c")


def subplots(columns: int, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    """A matplotlib figure of ``size`` inches, and its axes side by side."""
    # Not at the top: it takes half a second, and workers draw nothing.
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False, **options)[0]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(color="#e6e6e6", linewidth=0.7)
        each.set_axisbelow(True)
    return figure, axes


def bars(axes: Any, series: Mapping[str, Sequence[float]]) -> None:
    """A group of bars for each place on the axis: one of each series, by label."""
    width = 0.8 / len(series)
    for at, ((label, values), color) in enumerate(zip(series.items(), PALETTE, strict=False)):
        places = [place + (at - (len(series) - 1) / 2) * width for place in range(len(values))]
        axes.bar(places, values, width, label=label, color=color)


def shares(axes: Any, names: Sequence[str], parts: Mapping[str, Sequence[float]]) -> None:
    """A bar for each name, of parts that are 1 together, by label; the legend is above."""
    left = [0.0] * len(names)
    for (label, values), color in zip(parts.items(), (*PALETTE, "#d9c7a3"), strict=False):
        axes.barh(range(len(names)), values, left=left, label=label, color=color, height=0.7)
        left = [begin + value for begin, value in zip(left, values, strict=True)]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3, fontsize=8)


def timeline(
    axes: Any, names: Sequence[str], parts: Sequence[Sequence[tuple[float, str, str]]]
) -> None:
    """A bar for each name, of parts one behind the other: lengths, colours and hatches."""
    for at, several in enumerate(parts):
        left = 0.0
        for length, color, hatch in several:
            axes.barh(at, length, left=left, color=color, hatch=hatch, edgecolor="white", lw=0)
            left += length
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)


def line_at(axes: Any, value: float) -> None:
    """Draws a line where bars would end at best, or at worst."""
    axes.axhline(value, color=PALETTE[-1], linestyle="--", linewidth=1)


def save(figure: Any, path: Path) -> None:
    """Writes a PNG, whole or not at all; equal figures are equal bytes."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png", metadata={"Software": None})

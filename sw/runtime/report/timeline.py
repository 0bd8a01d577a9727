"""What a machine does, cycle by cycle, and a picture of it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from gnarl.sw.program.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SPANS = 120
"""At most: the picture shows averages over spans of cycles."""

_WIDTH = 11
"""Inches."""

_HEIGHT = 1.1
"""Inches, of a fifth of a picture with one mix."""

PALETTE = ("#1f6f8b", "#4da3bd", "#99cbd9", "#e09f3e", "#7a9e5f", "#b56576", "#d9d9d9", "#f2f2f2")


NOT_THE_MACHINES = "timing of the model, not of the machine"
"""A note."""

Kinds = Mapping[str, np.ndarray]
"""By name of what goes on: whether it does in a cycle, bool [n], or in what share of a span of
cycles, float64 [n]. Kinds exclude one another."""


@dataclass(frozen=True)
class Activity:
    """What goes on in each of ``n`` cycles, or of other steps, or of spans of them.

    unit
        what computes, in the plural: ``PEs``.
    capacity
        how many there are.
    busy
        int [n], how many of them compute in each cycle, or float64 [n], in the mean of each span.
    kinds
        of instructions, most useful first; a cycle may have none.
    note
        whose cycles these are, where they are not the hardware's: ``timing of the model, …``.
    step
        what a cycle is, in the singular.
    edges
        int64 [n + 1]: where spans begin, and where the last ends; ``None``: each is a cycle.
    state
        what units are said to be that are counted.
    whole
        what kinds are shares of; by default all steps.
    others
        more kinds, by what they are shares of.
    """

    unit: str
    capacity: int
    busy: np.ndarray
    kinds: Kinds
    note: str = ""
    step: str = "cycle"
    edges: np.ndarray | None = None
    state: str = "busy"
    whole: str = ""
    others: Mapping[str, Kinds] = field(default_factory=dict)

    @property
    def spans(self) -> np.ndarray:
        """Where spans, or cycles, begin, and where the last ends: int64 [n + 1]."""
        return np.arange(len(self.busy) + 1) if self.edges is None else self.edges

    @property
    def cycles(self) -> int:
        return len(self.busy) if self.edges is None else int(self.edges[-1])

    @property
    def mean(self) -> float:
        """The units that are busy in the mean cycle."""
        return self.mean_of(self.busy)

    @property
    def groups(self) -> Mapping[str, Kinds]:
        """All kinds, by what they are shares of."""
        return {self.whole or f"{self.step}s": self.kinds, **self.others}

    def mean_of(self, values: np.ndarray) -> float:
        """The mean over all cycles of what there is for each span."""
        if self.edges is None:
            return float(values.mean())
        return float(np.dot(values, np.diff(self.edges))) / self.cycles

    def title(self, name: str) -> str:
        """A title of what is called ``name``, all of whose numbers are this activity's."""
        counted = f"{self.cycles:,} {self.step}{'s'[: self.cycles != 1]}"
        text = f"{name}: {counted}, {self.mean:.2f} of {self.capacity} {self.unit} {self.state}"
        return f"{text}\n({self.note})" if self.note else text


def joined(activities: Sequence[Activity]) -> Activity:
    """One launch after the other; what differs in units or kinds is added up by name."""
    if len(activities) == 1:
        return activities[0]
    first = max(activities, key=lambda one: one.capacity)
    others = dict.fromkeys(whole for one in activities for whole in one.others)
    return replace(
        first,
        busy=np.concatenate([one.busy for one in activities]),
        kinds=_joined_kinds(activities, [one.kinds for one in activities]),
        note="; ".join(dict.fromkeys(one.note for one in activities if one.note)),
        edges=_joined_edges(activities),
        others={
            whole: _joined_kinds(activities, [one.others.get(whole, {}) for one in activities])
            for whole in others
        },
    )


def _joined_edges(activities: Sequence[Activity]) -> np.ndarray | None:
    if all(one.edges is None for one in activities):
        return None
    ends = np.cumsum([one.cycles for one in activities])
    starts = [one.spans[:-1] + end - one.cycles for one, end in zip(activities, ends, strict=True)]
    return np.append(np.concatenate(starts), ends[-1])


def _joined_kinds(activities: Sequence[Activity], of_each: Sequence[Kinds]) -> Kinds:
    nothing = [np.zeros(len(one.busy), bool) for one in activities]
    return {
        name: np.concatenate(
            [kinds.get(name, none) for kinds, none in zip(of_each, nothing, strict=True)]
        )
        for name in dict.fromkeys(name for kinds in of_each for name in kinds)
    }


def draw_timeline(activity: Activity, name: str, path: str | Path) -> None:
    """Writes a PNG of ``timeline_figure``, whole or not at all."""
    save_figure(timeline_figure(activity, name), path)


def timeline_figure(activity: Activity, name: str, axes: Axes | None = None) -> Figure:
    """Draws, above, the share of units that are busy; below, the mix of instructions.

    ``name``: of what runs where; the title's numbers are those that are drawn. ``axes``: where to
    draw the share alone; their figure is returned. O(spans).
    """
    # Not at the top: it takes half a second, which no other command should wait for.
    from gnarl.sw.runtime.report.notebook_figure import NotebookFigure

    edges = span_edges(activity.cycles)
    if axes is not None:
        set_title(axes, activity.title(name))
        _draw_busy(axes, activity, edges)
        axes.set(xlabel=activity.step, xlim=(0, activity.cycles))
        set_style(axes)
        return cast("Figure", axes.figure)
    heights = [3, *(2 for _ in activity.groups)]
    size = _WIDTH, _HEIGHT * sum(heights)
    figure = NotebookFigure(figsize=size, layout="constrained")
    above, *below = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    set_title(above, activity.title(name))
    _draw_busy(above, activity, edges)
    for each, (whole, kinds) in zip(below, activity.groups.items(), strict=True):
        _draw_kinds(each, activity, kinds, edges)
        each.set(ylabel=f"% of {whole}", ylim=(0, 100), xlim=(0, activity.cycles))
    below[-1].set(xlabel=activity.step)
    for each in figure.axes:
        set_style(each)
    return figure


def _draw_busy(axes: Axes, activity: Activity, edges: np.ndarray) -> None:
    busy = 100 * span_means(activity.busy, edges, activity.edges) / activity.capacity
    mean = 100 * activity.mean / activity.capacity
    axes.stairs(busy, edges, fill=True, color=PALETTE[1], alpha=0.85)
    axes.axhline(mean, color=PALETTE[3], linestyle="--", linewidth=1.2)
    axes.annotate(
        f"mean {mean:.1f} %",
        (1.01, mean),
        xycoords=("axes fraction", "data"),
        verticalalignment="center",
        annotation_clip=False,
        color="#a05f00",
    )
    label = f"{activity.unit} {activity.state}, % of {activity.capacity}"
    axes.set(ylabel=label, ylim=(0, 100))


def _draw_kinds(axes: Axes, activity: Activity, kinds: Kinds, edges: np.ndarray) -> None:
    floor = np.zeros(len(edges) - 1)
    for (kind, shares), color in zip(kinds.items(), cycle(PALETTE), strict=False):
        top = floor + 100 * span_means(shares, edges, activity.edges)
        label = f"{kind} {100 * activity.mean_of(shares):.0f} %"
        axes.stairs(top, edges, baseline=floor, fill=True, color=color, label=label)
        floor = top
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)


def set_title(axes: Axes, text: str) -> None:
    """A title as it is, dollars included."""
    axes.set_title(text, loc="left", fontsize=11, parse_math=False)


def set_style(axes: Axes, grid: Literal["x", "y"] = "y") -> None:
    """The style of the project's pictures. ``grid``: see ``save_figure``."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)


def save_figure(figure: Figure, path: str | Path, grid: Literal["x", "y"] = "y") -> None:
    """Writes a PNG, whole or not at all, with all axes in the style of the project's pictures.

    ``grid``: the axis whose values have lines.
    """
    for axes in figure.axes:
        set_style(axes, grid)
    with atomic_path(path) as temporary, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # names may have characters that no font has
        # No software version inside: equal runs draw equal bytes.
        figure.savefig(temporary, dpi=110, format="png", metadata={"Software": None})


def span_edges(cycles: int) -> np.ndarray:
    """First cycle of each span, and the end of the last: int64 [spans + 1], spans of equal size."""
    size = max(1, -(-cycles // _SPANS))
    return np.append(np.arange(0, cycles, size), cycles)


def span_means(
    values: np.ndarray, edges: np.ndarray, spans: np.ndarray | None = None
) -> np.ndarray:
    """Mean of the values between edges, float64 [edges - 1].

    ``spans``: edges of what each value is of; by default each is of one cycle.
    """
    weighted = values if spans is None else values * np.diff(spans)
    sums = np.concatenate([[0.0], np.cumsum(weighted, dtype=np.float64)])
    at_edges = sums[edges] if spans is None else np.interp(edges, spans, sums)
    return np.diff(at_edges) / np.diff(edges)

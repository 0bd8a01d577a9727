"""What a machine does, cycle by cycle, and a picture of it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from gnarl.sw.program.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SPANS = 120
"""At most: the picture shows averages over spans of cycles."""

_SIZE = (11, 5.5)
"""Inches."""

PALETTE = ("#1f6f8b", "#4da3bd", "#99cbd9", "#e09f3e", "#7a9e5f", "#b56576", "#d9d9d9", "#f2f2f2")


@dataclass(frozen=True)
class Activity:
    """What goes on in each of ``n`` cycles, or of other steps.

    unit
        what computes, in the plural: ``PEs``.
    capacity
        how many there are.
    busy
        int [n], how many of them compute in each cycle.
    kinds
        for each kind of instruction, most useful first, bool [n]: whether one issues in a cycle.
        Kinds exclude one another; a cycle may have none.
    note
        whose cycles these are, where they are not the hardware's: ``timing of the model, …``.
    step
        what there are ``n`` of, in the singular.
    """

    unit: str
    capacity: int
    busy: np.ndarray
    kinds: Mapping[str, np.ndarray]
    note: str = ""
    step: str = "cycle"

    @property
    def cycles(self) -> int:
        return len(self.busy)

    @property
    def mean(self) -> float:
        """The units that are busy in the mean cycle."""
        return float(self.busy.mean())

    def title(self, name: str) -> str:
        """A title of what is called ``name``, all of whose numbers are this activity's."""
        counted = f"{self.cycles:,} {self.step}{'s'[: self.cycles != 1]}"
        text = f"{name}: {counted}, {self.mean:.2f} of {self.capacity} {self.unit} busy"
        return f"{text}\n({self.note})" if self.note else text


def joined(activities: Sequence[Activity]) -> Activity:
    """One launch after the other; what differs in units or kinds is added up by name."""
    if len(activities) == 1:
        return activities[0]
    names = list(dict.fromkeys(name for one in activities for name in one.kinds))
    nothing = [np.zeros(one.cycles, bool) for one in activities]
    kinds = {
        name: np.concatenate(
            [one.kinds.get(name, none) for one, none in zip(activities, nothing, strict=True)]
        )
        for name in names
    }
    first = max(activities, key=lambda one: one.capacity)
    busy = np.concatenate([one.busy for one in activities])
    note = "; ".join(dict.fromkeys(one.note for one in activities if one.note))
    return Activity(first.unit, first.capacity, busy, kinds, note, first.step)


def draw_timeline(activity: Activity, name: str, path: str | Path) -> None:
    """Writes a PNG: above, the share of units that are busy; below, the mix of instructions.

    ``name``: of what runs where; the title's numbers are those that are drawn.

    The file appears whole or not at all. O(cycles).
    """
    # Not at the top: it takes half a second, which no other command should wait for.
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    cycles = activity.cycles
    edges = span_edges(cycles)

    busy = 100 * span_means(activity.busy, edges) / activity.capacity
    mean = 100 * activity.mean / activity.capacity
    above.stairs(busy, edges, fill=True, color=PALETTE[1], alpha=0.85)
    above.axhline(mean, color=PALETTE[3], linestyle="--", linewidth=1.2)
    above.annotate(
        f"mean {mean:.1f} %",
        (1.01, mean),
        xycoords=("axes fraction", "data"),
        verticalalignment="center",
        annotation_clip=False,
        color="#a05f00",
    )
    above.set(ylabel=f"{activity.unit} busy, % of {activity.capacity}", ylim=(0, 100))
    set_title(above, activity.title(name))

    floor = np.zeros(len(edges) - 1)
    for (kind, issued), color in zip(activity.kinds.items(), cycle(PALETTE), strict=False):
        top = floor + 100 * span_means(issued, edges)
        count = int(np.count_nonzero(issued))
        label = f"{kind} {100 * count / cycles:.0f} %"
        below.stairs(top, edges, baseline=floor, fill=True, color=color, label=label)
        floor = top
    below.set(
        xlabel=activity.step, ylabel=f"% of {activity.step}s", ylim=(0, 100), xlim=(0, cycles)
    )
    below.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    save_figure(figure, path)


def set_title(axes: Axes, text: str) -> None:
    """A title as it is, dollars included."""
    axes.set_title(text, loc="left", fontsize=11, parse_math=False)


def save_figure(figure: Figure, path: str | Path, grid: Literal["x", "y"] = "y") -> None:
    """Writes a PNG, whole or not at all, with all axes in the style of the project's pictures.

    ``grid``: the axis whose values have lines.
    """
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis=grid, color="#e6e6e6", linewidth=0.7)
        axes.set_axisbelow(True)
    with atomic_path(path) as temporary, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # names may have characters that no font has
        # No software version inside: equal runs draw equal bytes.
        figure.savefig(temporary, dpi=110, format="png", metadata={"Software": None})


def span_edges(cycles: int) -> np.ndarray:
    """First cycle of each span, and the end of the last: int64 [spans + 1], spans of equal size."""
    size = max(1, -(-cycles // _SPANS))
    return np.append(np.arange(0, cycles, size), cycles)


def span_means(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Mean of the values in each span, float64 [spans]."""
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return np.diff(sums[edges]) / np.diff(edges)

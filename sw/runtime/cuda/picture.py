"""A picture of a launch: what each task of a fused kernel is."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.runtime.cuda.grid import block_bytes
from gnarl.sw.runtime.cuda.machines import EmbeddingJob
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.report.timeline import (
    PALETTE,
    save_figure,
    set_style,
    set_title,
    span_edges,
    span_means,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HUES = tuple(PALETTE[number] for number in (0, 3, 4, 5, 1, 6, 2))
"""Hues of templates: neighbours in the palette are shades of one colour."""


def draw_tasks(run: LaunchRun[EmbeddingJob], title: str, path: Path) -> None:
    """Writes a PNG of ``tasks_figure``, whole or not at all."""
    save_figure(tasks_figure(run, title), path)


def tasks_figure(run: LaunchRun[EmbeddingJob], title: str, axes: Axes | None = None) -> Figure:
    """Draws bytes of rows that each task looks up, in the order of their numbers, by template.

    ``title``: of what ran; the numbers of tasks and blocks are added. ``axes``: where to draw;
    their figure is returned.

    A feature's bytes are taken to be spread evenly over its tasks. Of many tasks averages over
    spans are drawn. A template has the same colour in every picture.
    """
    from gnarl.sw.runtime.report.notebook_figure import NotebookFigure

    program, batch, grid = run.job.program, run.job.batch, run.job.grid
    features = range(len(program.model.features))
    used = np.array([program.schedules.schedule(number).template for number in features])
    of_task = grid.tasks["feature"]
    looked_up = block_bytes(program, batch.counts, grid.feature_blocks)[of_task]
    template_of_task = used[of_task]
    edges = span_edges(len(of_task))
    figure: Figure | None = None
    if axes is None:
        figure = NotebookFigure(figsize=(11, 4), layout="constrained")
        axes = figure.subplots()
    floor = np.zeros(len(edges) - 1)
    for name, color in zip(templates(), cycle(_HUES), strict=False):
        chosen = template_of_task == name
        if not chosen.any():
            continue
        top = floor + span_means(looked_up * chosen, edges) / 1024
        label = f"{name}: {_counted(int(np.count_nonzero(chosen)), 'task')}"
        axes.stairs(top, edges, baseline=floor, fill=True, color=color, label=label)
        floor = top
    axes.set(xlabel="task, in the order of their numbers", ylabel="KiB of rows looked up")
    axes.set(xlim=(0, len(of_task)), ylim=(0, 1.05 * floor.max() or 1))
    tasks, blocks = (run.finished.counters[name] for name in ("tasks", "blocks"))
    set_title(axes, f"{title}: {_counted(tasks, 'task')} on {_counted(blocks, 'block')}")
    set_style(axes)
    if figure is None:
        axes.legend(frameon=False, fontsize=9)
        return cast("Figure", axes.figure)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _counted(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'s'[: count != 1]}"

"""A picture of a grid: what each block of a fused kernel does."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import numpy as np

from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.runtime.cuda.grid import block_bytes
from gnarl.sw.runtime.cuda.task_map import TaskMap
from gnarl.sw.runtime.report.timeline import PALETTE, save_figure, set_title, span_edges, span_means
from gnarl.sw.workloads.embedding.model import Batch

_HUES = tuple(PALETTE[number] for number in (0, 3, 4, 5, 1, 6, 2))
"""Hues of templates: neighbours in the palette are shades of one colour."""


def draw_grid(
    program: EmbeddingProgram, batch: Batch, grid: TaskMap, title: str, path: Path
) -> None:
    """Writes a PNG: bytes of rows that each block looks up, in launch order, by template.

    A feature's bytes are taken to be spread evenly over its blocks. Large grids are averaged over
    spans of blocks. A template has the same colour in every picture.
    """
    from matplotlib.figure import Figure

    features = range(len(program.model.features))
    used = np.array([program.schedules.schedule(number).template for number in features])
    of_block = grid.tasks["feature"]
    per_block = block_bytes(program, batch.counts, grid.feature_blocks)[of_block]
    template_of_block = used[of_block]
    edges = span_edges(len(of_block))
    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots()
    floor = np.zeros(len(edges) - 1)
    for name, color in zip(templates(), cycle(_HUES), strict=False):
        chosen = template_of_block == name
        if not chosen.any():
            continue
        top = floor + span_means(per_block * chosen, edges) / 1024
        label = f"{name}: {np.count_nonzero(chosen):,} blocks"
        axes.stairs(top, edges, baseline=floor, fill=True, color=color, label=label)
        floor = top
    axes.set(xlabel="block of the grid, in launch order", ylabel="KiB of rows looked up")
    axes.set(xlim=(0, len(of_block)), ylim=(0, 1.05 * floor.max() or 1))
    set_title(axes, title)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    save_figure(figure, path)

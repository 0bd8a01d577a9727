"""A picture of a grid: what each block of a fused kernel does."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sw.compiler.cuda.program import EmbeddingProgram
from sw.compiler.frontend.embedding_model import TABLE_TYPES, Batch
from sw.runtime.atomic import atomic_path
from sw.runtime.cuda.task_map import TaskMap

_COLUMNS = 600
"""Of the picture; blocks that share one are averaged."""


def draw_grid(
    program: EmbeddingProgram, batch: Batch, grid: TaskMap, title: str, path: Path
) -> None:
    """Writes a PNG: bytes of rows that each block looks up, in launch order, by template.

    A feature's bytes are taken to be spread evenly over its blocks.
    """
    from matplotlib.figure import Figure

    features = program.model.features
    looked_up = np.array(
        [
            len(inputs.indices) * feature.dim * TABLE_TYPES[feature.table_type].itemsize
            for feature, inputs in zip(features, batch.features, strict=True)
        ],
        np.float64,
    )
    templates = [program.schedules.schedule(number).template for number in range(len(features))]
    of_block = grid.tasks["feature"]
    per_block = (looked_up / grid.feature_blocks)[of_block]
    width = -(-len(of_block) // _COLUMNS)
    columns = np.arange(len(of_block)) // width
    sizes = np.bincount(columns)
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots()
    base = np.zeros(len(sizes))
    for name in dict.fromkeys(templates):
        chosen = np.array([template == name for template in templates])[of_block]
        height = np.bincount(columns, per_block * chosen, len(sizes)) / sizes / 1024
        axes.bar(
            np.arange(len(sizes)) * width,
            height,
            width,
            bottom=base,
            align="edge",
            label=f"{name}: {chosen.sum():,} blocks",
        )
        base += height
    axes.set_xlim(0, len(of_block))
    axes.set_xlabel("block of the grid, in launch order")
    axes.set_ylabel("KiB of rows looked up")
    axes.set_title(title)
    axes.set_ylim(0, 1.05 * base.max() or 1)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=120)

"""How the benchmarks' pictures look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sw.runtime.atomic import atomic_path

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


def save(figure: Any, path: Path) -> None:
    """Writes a PNG, whole or not at all; equal figures are equal bytes."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png", metadata={"Software": None})

"""Recommendation models: those of the paper, or an example in their place."""

from __future__ import annotations

from pathlib import Path

import click

from bench.lib.request import Request
from sw.workloads.embedding.recflex import write_example

MODELS = ("A", "B", "C", "D", "E")
FOLDER = "recflex"


def _names(context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


MODELS_OPTION = click.option(
    "--models",
    default=",".join(MODELS),
    show_default=True,
    callback=_names,
    help=f"Folders below {FOLDER} in the workloads.",
)
"""Of benchmarks that call ``models``."""


def models(request: Request, title: str) -> list[Path]:
    """The folders of the models that were asked for, one of them if few are enough; says which are
    absent. Without any, the project's example."""
    wanted = request.options["models"]
    found = []
    for name in wanted[:1] if request.quick else wanted:
        folder = request.workloads / FOLDER / name
        if folder.is_dir():
            found.append(folder)
        else:
            _tell(request, f"{title}: {folder} is absent: skipped")
    if found:
        return found
    (request.output / "examples").mkdir(parents=True, exist_ok=True)
    made = write_example(request.output / "examples")
    _tell(request, f"{title}: generated instead: {made}")
    return [made]


def _tell(request: Request, text: str) -> None:
    request.console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)

"""Recommendation models: those of the paper, or the project's example."""

from __future__ import annotations

from pathlib import Path

import click

from bench.lib.request import Request
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.workloads.embedding.recflex import write_example

MODELS = ("A", "B", "C", "D", "E")
FOLDER = "recflex"
EXAMPLE = "example"


def names(context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
    """Callback of options that take names between commas."""
    found = tuple(name for name in text.split(",") if name)
    if not found:
        raise click.BadParameter(f"{text!r}: must be names between commas")
    return found


MODELS_OPTION = click.option(
    "--models",
    default=",".join(MODELS),
    show_default=True,
    callback=names,
    help=f"Folders below {FOLDER} in the workloads; {EXAMPLE}: one that is generated.",
)
"""The option of benchmarks that call ``models``."""


def models(request: Request) -> list[Path]:
    """The folders of the models that were asked for, the first of them if few are enough.

    Raises ``GnarlError`` for one that is not there.
    """
    wanted = request.options["models"]
    return [_folder(request, name) for name in (wanted[:1] if request.quick else wanted)]


def _folder(request: Request, name: str) -> Path:
    if name == EXAMPLE:
        examples = request.output / "examples"
        examples.mkdir(parents=True, exist_ok=True)
        return write_example(examples)
    folder = request.workloads / FOLDER / name
    if not folder.is_dir():
        raise GnarlError(
            f"{folder}: no such folder: must be a model of the workloads (--workloads), or "
            f"--models {EXAMPLE}"
        )
    return folder

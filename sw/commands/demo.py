"""``gnarl demo``."""

from __future__ import annotations

from pathlib import Path

import click

from gnarl.sw.commands.boundary import DIFFERENT
from gnarl.sw.commands.options import GnarlCommand, folder_option
from gnarl.sw.commands.output import page, print_result, stderr
from gnarl.sw.commands.progress import ConsoleStages
from gnarl.sw.runtime.target.configuration import (
    NamedConfiguration,
    load_configuration,
)
from gnarl.sw.runtime.target.registry import loaded


@click.command(cls=GnarlCommand)
@click.option(
    "--config",
    "names",
    multiple=True,
    help="Configuration to run its target's examples on, by default one of each target; may be "
    "given again.",
)
@folder_option(
    "-o",
    "--output",
    "folder",
    default=Path("build/demo"),
    show_default=True,
    help="Folder for the workloads and pictures.",
)
def demo(names: tuple[str, ...], folder: Path) -> int:
    """Generate workloads for each target, run them on the RTL, and draw their timelines.

    Example: gnarl demo --config dpu_d2_b16
    """
    from gnarl.sw.runtime.run.warm_up import running_ahead

    shown = names or [target.demo for target in loaded().values() if target.demo]
    configurations = [load_configuration(name) for name in shown]
    folder.mkdir(parents=True, exist_ok=True)
    with running_ahead(shown):
        matches = [_show_examples(configuration, folder) for configuration in configurations]
    return 0 if all(matches) else DIFFERENT


def _show_examples(configuration: NamedConfiguration, folder: Path) -> bool:
    """Whether all results are as they must be."""
    from gnarl.sw.runtime.run.session import run_once

    matches = True
    for example in configuration.target.reader.examples(folder):
        picture = folder / f"{example.name}.png" if configuration.target.presenter.draws else None
        report = run_once(
            configuration,
            example.source,
            tensors=example.tensors,
            options=example.options,
            timeline=picture,
            stages=ConsoleStages(stderr()),
        )
        print_result(page(report.print) + (f"timeline: {picture}\n\n" if picture else "\n"))
        matches = matches and report.matches
    return matches

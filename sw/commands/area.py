"""The command ``gnarl area``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gnarl.sw.commands.options import (
    GnarlCommand,
    configuration_argument,
    input_file,
    json_option,
    output_option,
    overrides_option,
)
from gnarl.sw.commands.output import hardware, page, print_result, stderr
from gnarl.sw.commands.progress import ConsoleStages


@click.command(cls=GnarlCommand)
@configuration_argument
@click.argument("workload", required=False)
@click.option(
    "--liberty",
    type=input_file,
    metavar="FILE",
    help="The library of cells; without, gates are generic, and nothing has an area.",
)
@click.option(
    "--macro",
    "macros",
    type=input_file,
    multiple=True,
    metavar="FILE",
    help="Memories with their areas, liberty or .json; may be given again.",
)
@click.option(
    "--activity",
    type=input_file,
    metavar="FILE",
    help="How often signals change, for the power: what gnarl run --waves FILE.saif wrote.",
)
@overrides_option
@json_option
@output_option(
    "--treemap", help="Draw the components in proportion to their size to this PNG file."
)
def area(
    config: str,
    workload: str | None,
    liberty: Path | None,
    macros: tuple[Path, ...],
    activity: Path | None,
    overrides: tuple[str, ...],
    as_json: bool,
    treemap: Path | None,
) -> None:
    """Say what a configuration's hardware costs in silicon, by component.

    Gates of a synthesised netlist; with a library of cells their area, and where OpenSTA (sta) is
    installed the longest path through each component, the clock and the power. Memories are listed
    apart. All figures are before layout. Where a target's hardware is made for its workload,
    WORKLOAD says for which.

    Example: gnarl area dpu_d1_b8 --liberty cells.lib --treemap dpu.png
    """
    from gnarl.sw.runtime.area.measure import measure
    from gnarl.sw.runtime.area.treemap import draw_treemap

    if activity is not None and liberty is None:
        raise click.UsageError("--activity needs --liberty FILE.")
    stages = ConsoleStages(stderr())
    configuration = hardware(config, overrides, workload)
    report = measure(configuration, liberty, macros, activity, stages)
    if treemap is not None:
        draw_treemap(report.tile(), report.tile_title, treemap)
    if as_json:
        print_result(json.dumps(report.to_json(), allow_nan=False) + "\n")
    else:
        print_result(page(report.print))

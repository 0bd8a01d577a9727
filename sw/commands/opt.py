"""The command ``gnarl opt``."""

from __future__ import annotations

from pathlib import Path

import click

from gnarl.sw.commands.options import GnarlCommand, input_file, overrides_option
from gnarl.sw.commands.output import print_result
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.text_file import read_text


@click.command(cls=GnarlCommand)
@click.argument("file", type=input_file, metavar="FILE.mlir")
@click.option(
    "-p",
    "--passes",
    default="",
    metavar="PASSES",
    help="Names of passes with commas between them, in order; see gnarl passes. By default none.",
)
@click.option(
    "--config",
    default="tmu_l8",
    show_default=True,
    help="The configuration to compile for.",
)
@overrides_option
@click.option(
    "--zero",
    "zeros",
    multiple=True,
    metavar="NAME",
    help="An array that is 0 before the run, where the text is no dump; may be given again.",
)
def opt(
    file: Path, passes: str, config: str, overrides: tuple[str, ...], zeros: tuple[str, ...]
) -> None:
    """Run passes of a compiler on MLIR text of any of its levels, and print the result.

    Such text is what `gnarl compile --dump FOLDER` writes for tmu; of such a dump, the result is
    a workload of `gnarl compile` and `gnarl run`, too.

    Example: gnarl opt passes/01_scf.mlir -p hoist,decouple,vectorize --set lanes=4
    """
    configuration = load_configuration(config, overrides)
    names = [name for name in passes.split(",") if name]
    compiler = configuration.target.compiler
    print_result(compiler.optimise(read_text(file), str(file), names, configuration.config, zeros))

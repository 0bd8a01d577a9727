"""The command ``gnarl opt``."""

from __future__ import annotations

import re
from pathlib import Path

import click

from gnarl.sw.commands.options import GnarlCommand, input_file, overrides_option
from gnarl.sw.commands.output import print_result
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.registry import command_lines
from gnarl.sw.workloads.text_file import read_text

_DEFAULT = "tmu_l8"
_OF_EINSUMS = "sam_fp32"
_LINALG = re.compile(r'^[ \t]*(?:%[^=\n"/]*= *)?"?linalg\.', re.MULTILINE)
"""An operation that only programs of Einsums have."""


class _OptCommand(GnarlCommand):
    """A command whose help lists passes that no compiler has."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        for target, line in command_lines().items():
            if line.program_passes:
                with formatter.section(f"Passes of programs of Einsums ({target})"):
                    formatter.write_dl([*line.program_passes.items()])


@click.command(cls=_OptCommand)
@click.argument("file", type=input_file, metavar="FILE.mlir")
@click.option(
    "-p",
    "--passes",
    default="",
    metavar="PASSES",
    help="Names of passes with commas between them, in order: of tmu, as gnarl passes lists them, "
    "or of programs of Einsums, as below. By default none.",
)
@click.option(
    "--config",
    metavar="CONFIG",
    help=f"The configuration to compile for; by default {_DEFAULT}, or {_OF_EINSUMS} for a program "
    "of Einsums.",
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
    file: Path, passes: str, config: str | None, overrides: tuple[str, ...], zeros: tuple[str, ...]
) -> None:
    """Run passes of a compiler on MLIR text of any of its levels, and print the result.

    Such text is what `gnarl compile --dump FOLDER` writes for tmu, or a program of Einsums, as
    linalg operations on tensors. The result is a workload of `gnarl compile` and `gnarl run`, if
    FILE was a dump or a program.

    Example: gnarl opt passes/01_scf.mlir -p hoist,decouple,vectorize --set lanes=4

    Example: gnarl opt layer.mlir -p "associate=adj*(x*weight),views,order"
    """
    text = read_text(file)
    default = _OF_EINSUMS if _LINALG.search(text) else _DEFAULT
    configuration = load_configuration(config or default, overrides)
    names = [name for name in passes.split(",") if name]
    compiler = configuration.target.compiler
    print_result(compiler.optimise(text, str(file), names, configuration.config, zeros))

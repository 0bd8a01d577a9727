"""The ``gnarl`` command."""

from __future__ import annotations

import click

from gnarl import __version__
from gnarl.sw.commands.area import area
from gnarl.sw.commands.boundary import refuse
from gnarl.sw.commands.cache import cache
from gnarl.sw.commands.compare import compare
from gnarl.sw.commands.compile import compile_, disasm, passes
from gnarl.sw.commands.configurations import configs, lint, rtl
from gnarl.sw.commands.demo import demo
from gnarl.sw.commands.explore import explore
from gnarl.sw.commands.fpga import fpga
from gnarl.sw.commands.opt import opt
from gnarl.sw.commands.options import GnarlGroup
from gnarl.sw.commands.run import run
from gnarl.sw.commands.tune import tune
from gnarl.sw.runtime.target.registry import others


@click.group("gnarl", cls=GnarlGroup, invoke_without_command=True)
@click.version_option(__version__)
@click.pass_context
def main(context: click.Context) -> None:
    """Accelerators for irregular computation, and their compilers.

    CONFIG is a name that `gnarl configs` lists, or the path of a .toml file.

    Exit status: 0 when results match, 1 when they differ, 2 for bad input, 3 for an error of Gnarl
    itself, 130 when interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        return
    for error in others()[1]:
        refuse(f"gnarl: {error}")


for _command in (
    *(area, cache, compare, compile_, configs, demo, disasm, explore, fpga),
    *(lint, opt, passes, rtl, run, tune),
):
    main.add_command(_command)

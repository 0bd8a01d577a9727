"""``gnarl configs``, ``rtl`` and ``lint``: configurations and their Verilog."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gnarl.sw.commands.boundary import DIFFERENT
from gnarl.sw.commands.options import (
    GnarlCommand,
    configuration_argument,
    folder_option,
    overrides_option,
)
from gnarl.sw.commands.output import hardware, print_table, stderr
from gnarl.sw.commands.progress import ConsoleStages
from gnarl.sw.program.atomic import write_text
from gnarl.sw.runtime.target.configuration import configuration_notes


@click.command(cls=GnarlCommand)
def configs() -> None:
    """List the configurations that can be called by name.

    Example: gnarl configs
    """
    print_table(("name", "target", "what it is"), configuration_notes())


@click.command(cls=GnarlCommand)
@configuration_argument
@click.argument("workload", required=False)
@overrides_option
@folder_option("-o", "--output", "folder", help="Folder to write to; by default build/NAME.")
def rtl(config: str, workload: str | None, overrides: tuple[str, ...], folder: Path | None) -> None:
    """Write a configuration's Verilog, and beside it all of its fields as JSON.

    Where a target's hardware is made for its workload, WORKLOAD says for which.

    Example: gnarl rtl dpu_d3_b64 --set registers=64 -o build/more_registers
    """
    from gnarl.sw.runtime.target.verilog import verilog

    configuration = hardware(config, overrides, workload)
    folder = folder or Path("build") / configuration.name
    folder.mkdir(parents=True, exist_ok=True)
    with ConsoleStages(stderr())("generate Verilog"):
        text = verilog(configuration)
    for extension, content in (
        (".v", text),
        (".json", json.dumps(configuration.to_dict(), indent=2) + "\n"),
    ):
        path = folder / f"{configuration.name}{extension}"
        write_text(path, content)
        click.echo(path)


@click.command(cls=GnarlCommand)
@configuration_argument
@click.argument("workload", required=False)
@overrides_option
def lint(config: str, workload: str | None, overrides: tuple[str, ...]) -> int:
    """Check a configuration's Verilog with verilator --lint-only -Wall.

    Prints what is wrong, if anything; then the exit status is 1.

    Example: gnarl lint dpu_d3_b64
    """
    from gnarl.sw.runtime.machine.verilate import lint as findings
    from gnarl.sw.runtime.target.verilog import module_name, verilog

    configuration = hardware(config, overrides, workload)
    stages = ConsoleStages(stderr())
    with stages("generate Verilog"):
        text = verilog(configuration)
    with stages("lint"):
        messages = findings(text, module_name(configuration))
    for line in messages:
        click.echo(line)
    return DIFFERENT if messages else 0

"""The ``gnarl`` command."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never, TypeVar

import click
from rich.console import Console
from rich.table import Table

from hw.lib.errors import GnarlError, WorkloadError
from sw.progress import ConsoleStages
from sw.runtime.configuration import configuration_names, load_configuration

BAD_INPUT = 2
DIFFERENT = 1
INTERRUPTED = 130

Command = TypeVar("Command", bound=Callable[..., Any])


class _Gnarl(click.Group):
    """The one place where errors become a line on stderr and an exit status."""

    def main(self, *args: Any, **extra: Any) -> Never:
        extra["standalone_mode"] = False
        # Ending us is an interrupt, too, so that temporary files go.
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            status = super().main(*args, **extra)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "gnarl"
            status = _refuse(f"{command}: {error.format_message()} See {command} --help")
        except click.ClickException as error:
            status = _refuse(f"gnarl: {error.format_message()}")
        except GnarlError as error:
            status = _refuse(f"gnarl: {error}")
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            status = _refuse(f"gnarl: {place}{error.strerror or error}")
        except (KeyboardInterrupt, click.Abort):
            click.echo("gnarl: interrupted", err=True)
            status = INTERRUPTED
        finally:
            signal.signal(signal.SIGTERM, before)
        sys.exit(status)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0


def _refuse(text: str) -> int:
    click.echo(" ".join(text.split()), err=True)
    return BAD_INPUT


def _writable(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuses a file whose folder is not there before any work is done for it."""
    if path is not None and not path.parent.is_dir():
        raise click.BadParameter(f"{path.parent}: no such folder.", context, parameter)
    return path


def _output(*names: str, **attributes: Any) -> Callable[[Command], Command]:
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option(*names, type=kind, callback=_writable, **attributes)


_input_file = click.Path(path_type=Path, exists=True, dir_okay=False)
_configuration = click.argument("config")
_overrides = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Override a field of the configuration; may be given again.",
)
_seed = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="For the compiler's choices, and input values that the workload's file lacks.",
)
_no_reassociate = click.option(
    "--no-reassociate",
    is_flag=True,
    help="Combine the operands of a sum or product from left to right, as they stand.",
)


@click.group("gnarl", cls=_Gnarl, invoke_without_command=True)
@click.version_option(package_name="gnarl")
@click.pass_context
def main(context: click.Context) -> None:
    """Accelerators for irregular computation, and their compilers.

    CONFIG is a name that `gnarl configs` lists, or the path of a .toml file.

    Exit status: 0 when results match, 1 when they differ, 2 for bad input, 130 when
    interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@main.command()
def configs() -> None:
    """List the configurations that can be called by name.

    Example: gnarl configs
    """
    table = Table("name", "target", "what it is", box=None, pad_edge=False)
    for name in configuration_names():
        found = load_configuration(name)
        table.add_row(name, found.target.name, found.note)
    Console().print(table)


@main.command()
@_configuration
@_overrides
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write to; by default build/NAME.",
)
def rtl(config: str, overrides: tuple[str, ...], folder: Path | None) -> None:
    """Write a configuration's Verilog, and beside it all of its fields as JSON.

    Example: gnarl rtl dpu_d3_b64 --set registers=64 -o build/more_registers
    """
    from sw.runtime.atomic import write_text
    from sw.runtime.verilog import verilog

    configuration = load_configuration(config, overrides)
    folder = folder or Path("build") / configuration.name
    folder.mkdir(parents=True, exist_ok=True)
    with ConsoleStages(_stderr())("generate Verilog"):
        text = verilog(configuration)
    for extension, content in (
        (".v", text),
        (".json", json.dumps(configuration.to_dict(), indent=2) + "\n"),
    ):
        path = folder / f"{configuration.name}{extension}"
        write_text(path, content)
        click.echo(path)


@main.command()
@_configuration
@_overrides
def lint(config: str, overrides: tuple[str, ...]) -> int:
    """Check a configuration's Verilog with verilator --lint-only -Wall.

    Prints what is wrong, if anything; then the exit status is 1.

    Example: gnarl lint dpu_d3_b64
    """
    from sw.runtime.lint import lint as findings
    from sw.runtime.verilog import module_name, verilog

    configuration = load_configuration(config, overrides)
    stages = ConsoleStages(_stderr())
    with stages("generate Verilog"):
        text = verilog(configuration)
    with stages("lint"):
        found = findings(text, module_name(configuration))
    for line in found:
        click.echo(line)
    return DIFFERENT if found else 0


@main.command("compile")
@_configuration
@click.argument("workload", type=_input_file)
@_output("-o", "--output", required=True, help="The program file to write.")
@_overrides
@_seed
@_no_reassociate
def compile_(
    config: str,
    workload: Path,
    output: Path,
    overrides: tuple[str, ...],
    seed: int,
    no_reassociate: bool,
) -> None:
    """Compile a workload to a program file, which `gnarl run` takes with new input values.

    Example: gnarl compile dpu_d3_b64 circuit.psdd -o circuit.npz
    """
    from sw.runtime.device import Device

    if output.exists() and output.samefile(workload):
        raise WorkloadError(f"{output}: is the workload itself: must be another file")
    configuration = load_configuration(config, overrides)
    device = Device(configuration, backend="model", stages=ConsoleStages(_stderr()))
    program = device.compile(workload, seed=seed, reassociate=not no_reassociate)
    program.save(output)


@main.command()
@click.argument("program", type=_input_file)
def disasm(program: Path) -> None:
    """Print the instructions of a program file, one line each.

    Example: gnarl disasm circuit.npz
    """
    from sw.runtime.program import Program
    from sw.targets import TARGETS

    loaded = Program.load(program)
    for line in TARGETS[loaded.target].part("runtime").listing(loaded):
        click.echo(line)


@main.command()
@_configuration
@click.argument("workload", type=_input_file, metavar="WORKLOAD|PROGRAM")
@_overrides
@click.option(
    "--backend",
    type=click.Choice(["rtl", "model"]),
    default="rtl",
    show_default=True,
    help="Simulated RTL, or the interpreter of its instructions.",
)
@click.option(
    "--values",
    type=_input_file,
    help="New input values: JSON of names and numbers, or a workload of the same structure.",
)
@_seed
@_no_reassociate
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the page.")
@_output("--waves", help="Write the RTL's signals to this file, in FST format.")
@_output("--timeline", help="Draw what the machine does, cycle by cycle, to this PNG file.")
def run(
    config: str,
    workload: Path,
    overrides: tuple[str, ...],
    backend: str,
    values: Path | None,
    seed: int,
    no_reassociate: bool,
    as_json: bool,
    waves: Path | None,
    timeline: Path | None,
) -> int:
    """Run a workload, or a program file with --values, and compare with the golden model.

    Example: gnarl run dpu_d3_b64 circuit.psdd --timeline circuit.png
    """
    from sw.runtime.session import run_once

    if waves and backend != "rtl":
        raise click.UsageError(f"--waves shows the RTL: not for --backend {backend}.")
    report = run_once(
        load_configuration(config, overrides),
        workload,
        backend=backend,
        values=values,
        seed=seed,
        reassociate=not no_reassociate,
        waves=waves,
        timeline=timeline,
        stages=ConsoleStages(_stderr()),
    )
    if as_json:
        click.echo(json.dumps(report.to_json(), allow_nan=False))
    else:
        report.print(Console())
    return 0 if report.bit_exact else DIFFERENT


@main.command()
@click.option(
    "--config", default="dpu_d3_b64", show_default=True, help="Configuration to run them on."
)
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("build/demo"),
    show_default=True,
    help="Folder for the workloads and pictures.",
)
def demo(config: str, folder: Path) -> int:
    """Generate two workloads, run them on the RTL, and draw their timelines.

    Example: gnarl demo --config dpu_d2_b16
    """
    from sw.compiler.frontend.generate import write_examples
    from sw.runtime.session import run_once

    configuration = load_configuration(config)
    status = 0
    for path in write_examples(folder):
        picture = path.with_suffix(".png")
        stages = ConsoleStages(_stderr())
        report = run_once(configuration, path, timeline=picture, stages=stages)
        report.print(Console())
        click.echo(f"timeline: {picture}\n")
        status = max(status, 0 if report.bit_exact else DIFFERENT)
    return status


def _stderr() -> Console:
    return Console(stderr=True)

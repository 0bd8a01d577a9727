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
from sw.runtime.configuration import (
    NamedConfiguration,
    configuration_names,
    load_configuration,
)
from sw.targets import Runtime

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


def _named(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Texts ``NAME=PATH`` by name."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise click.BadParameter(f"{text}: must be NAME=PATH.", context, parameter)
        if name in found:
            raise click.BadParameter(f"{text}: {name} is given twice.", context, parameter)
        found[name] = path
    return found


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
    help="Combine the operands of a sum or product from left to right, as they stand (dpu).",
)
_tensors = click.option(
    "--tensor",
    "tensors",
    multiple=True,
    metavar="NAME=PATH",
    callback=_named,
    help="A tensor of an expression: .mtx, .tns, .npz, .npy, or a fibertree's FOLDER (sam).",
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
@click.argument("workload", required=False)
@_overrides
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write to; by default build/NAME.",
)
def rtl(config: str, workload: str | None, overrides: tuple[str, ...], folder: Path | None) -> None:
    """Write a configuration's Verilog, and beside it all of its fields as JSON.

    Where a target's hardware is made for its workload, WORKLOAD says for which.

    Example: gnarl rtl dpu_d3_b64 --set registers=64 -o build/more_registers
    """
    from sw.runtime.atomic import write_text
    from sw.runtime.verilog import verilog

    configuration = _for_workload(load_configuration(config, overrides), workload)
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
@click.argument("workload", required=False)
@_overrides
def lint(config: str, workload: str | None, overrides: tuple[str, ...]) -> int:
    """Check a configuration's Verilog with verilator --lint-only -Wall.

    Prints what is wrong, if anything; then the exit status is 1.

    Example: gnarl lint dpu_d3_b64
    """
    from sw.runtime.lint import lint as findings
    from sw.runtime.verilog import module_name, verilog

    configuration = _for_workload(load_configuration(config, overrides), workload)
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
@click.argument("workload", required=False)
@_output("-o", "--output", help="The program file to write.")
@_output("--dot", help="Write the program's graph in the DOT dialect of the SAM tools (sam).")
@_overrides
@_seed
@_no_reassociate
def compile_(
    config: str,
    workload: str | None,
    output: Path | None,
    dot: Path | None,
    overrides: tuple[str, ...],
    seed: int,
    no_reassociate: bool,
) -> None:
    """Compile a workload to a program file, which `gnarl run` takes with new input values.

    WORKLOAD is a file or, for sam, an expression; it may be left out where CONFIG names one.

    Example: gnarl compile dpu_d3_b64 circuit.psdd -o circuit.npz
    """
    from sw.runtime.atomic import write_text
    from sw.runtime.device import Device

    if output is None and dot is None:
        raise click.UsageError("Missing option '-o' / '--output' or '--dot'.")
    configuration = load_configuration(config, overrides)
    source = _workload(configuration, workload)
    for path in (output, dot):
        if path and path.exists() and os.path.exists(source) and path.samefile(source):
            raise WorkloadError(f"{path}: is the workload itself: must be another file")
    runtime: Runtime = configuration.target.part("runtime")
    device = Device(configuration, backend="model", stages=ConsoleStages(_stderr()))
    options = _compiler_options(configuration, no_reassociate)
    program = device.compile(runtime.source(source, {}), seed=seed, **options)
    drawn = runtime.dot(program) if dot is not None else ""
    if output is not None:
        program.save(output)
    if dot is not None:
        write_text(dot, drawn)


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
@click.argument("workload", required=False, metavar="[WORKLOAD|PROGRAM]")
@_tensors
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
    workload: str | None,
    tensors: dict[str, str],
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

    WORKLOAD is a file or, for sam, an expression or a .gv graph, with a --tensor for each of its
    operands; it may be left out where CONFIG names one.

    Example: gnarl run dpu_d3_b64 circuit.psdd --timeline circuit.png

    Example: gnarl run sam_fp32 "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss -f=c:s" --tensor B=b.mtx
    --tensor c=c.tns
    """
    from sw.runtime.session import run_once

    if waves and backend != "rtl":
        raise click.UsageError(f"--waves shows the RTL: not for --backend {backend}.")
    configuration = load_configuration(config, overrides)
    report = run_once(
        configuration,
        _workload(configuration, workload),
        backend=backend,
        values=values,
        tensors=tensors,
        seed=seed,
        options=_compiler_options(configuration, no_reassociate),
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
    "--config",
    "names",
    multiple=True,
    default=["dpu_d3_b64", "sam_fp32"],
    show_default=True,
    help="Configuration to run its target's examples on; may be given again.",
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
def demo(names: tuple[str, ...], folder: Path) -> int:
    """Generate workloads for each target, run them on the RTL, and draw their timelines.

    Example: gnarl demo --config dpu_d2_b16
    """
    from sw.runtime.session import run_once

    configurations = [load_configuration(name) for name in names]
    folder.mkdir(parents=True, exist_ok=True)
    status = 0
    for configuration in configurations:
        runtime: Runtime = configuration.target.part("runtime")
        for example in runtime.examples(folder):
            picture = folder / f"{example.name}.png"
            report = run_once(
                configuration,
                example.source,
                tensors=example.tensors,
                timeline=picture,
                stages=ConsoleStages(_stderr()),
            )
            report.print(Console())
            click.echo(f"timeline: {picture}\n")
            status = max(status, 0 if report.bit_exact else DIFFERENT)
    return status


def _workload(configuration: NamedConfiguration, given: str | None) -> str:
    """The workload on the command line, or else the one that the configuration names."""
    field = configuration.target.own_workload
    own = getattr(configuration.config, field) if field else ""
    if given is None and not own:
        raise click.UsageError(f"Missing argument 'WORKLOAD': {configuration.name} names none.")
    return own if given is None else given


def _for_workload(configuration: NamedConfiguration, given: str | None) -> NamedConfiguration:
    """The configuration of the hardware for a workload that is named on the command line."""
    if given is None:
        return configuration
    if not configuration.target.filled_in:
        raise click.UsageError(
            f"Unexpected argument {given!r}: target {configuration.target.name} has one hardware "
            "for all workloads."
        )
    from sw.runtime.device import Device

    runtime: Runtime = configuration.target.part("runtime")
    device = Device(configuration, backend="model")
    return device.hardware(device.compile(runtime.source(given, {})))


def _compiler_options(configuration: NamedConfiguration, no_reassociate: bool) -> dict[str, Any]:
    if no_reassociate and "reassociate" not in configuration.target.options:
        raise click.UsageError(
            f"--no-reassociate: target {configuration.target.name} never reorders."
        )
    return {"reassociate": False} if no_reassociate else {}


def _stderr() -> Console:
    return Console(stderr=True)

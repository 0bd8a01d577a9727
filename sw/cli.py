"""The ``gnarl`` command."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Never

import click
from rich.console import Console
from rich.table import Table

from hw.lib.errors import GnarlError, WorkloadError
from sw.cli_options import (
    configuration_argument,
    input_file,
    no_reassociate_option,
    output_option,
    overrides_option,
    schedules_option,
    seed_option,
    target_options,
    tensors_option,
)
from sw.compiler.cuda.schedule import MAPPINGS, STRATEGIES
from sw.progress import ConsoleStages
from sw.runtime.configuration import (
    NamedConfiguration,
    configuration_names,
    load_configuration,
)
from sw.targets import TARGETS, Frontend
from sw.workloads.embedding.model import MAXIMUM_BATCH

BAD_INPUT = 2
DIFFERENT = 1
INTERRUPTED = 130


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
        except MemoryError as error:
            status = _refuse(f"gnarl: this machine has too little memory: {error}")
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
@configuration_argument
@click.argument("workload", required=False)
@overrides_option
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
    from sw.program.atomic import write_text
    from sw.runtime.verilog import verilog

    configuration = _hardware(config, overrides, workload)
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
@configuration_argument
@click.argument("workload", required=False)
@overrides_option
def lint(config: str, workload: str | None, overrides: tuple[str, ...]) -> int:
    """Check a configuration's Verilog with verilator --lint-only -Wall.

    Prints what is wrong, if anything; then the exit status is 1.

    Example: gnarl lint dpu_d3_b64
    """
    from sw.runtime.lint import lint as findings
    from sw.runtime.verilog import module_name, verilog

    configuration = _hardware(config, overrides, workload)
    stages = ConsoleStages(_stderr())
    with stages("generate Verilog"):
        text = verilog(configuration)
    with stages("lint"):
        found = findings(text, module_name(configuration))
    for line in found:
        click.echo(line)
    return DIFFERENT if found else 0


@main.command("compile")
@configuration_argument
@click.argument("workload", required=False)
@output_option("-o", "--output", help="The program file to write.")
@output_option("--dot", help="Write the program's graph in the DOT dialect of the SAM tools (sam).")
@overrides_option
@seed_option
@no_reassociate_option
@schedules_option
def compile_(
    config: str,
    workload: str | None,
    output: Path | None,
    dot: Path | None,
    overrides: tuple[str, ...],
    seed: int,
    no_reassociate: bool,
    schedules: Path | None,
) -> None:
    """Compile a workload to a program file, which `gnarl run` takes with new input values.

    WORKLOAD is a file; for sam, an expression; for cuda, a model's folder or .py file. It may be
    left out where CONFIG names one.

    Example: gnarl compile dpu_d3_b64 circuit.psdd -o circuit.npz
    """
    from sw.program.atomic import write_text
    from sw.runtime.compiling import Compiling

    if output is None and dot is None:
        raise click.UsageError("Missing option '-o' / '--output' or '--dot'.")
    configuration = load_configuration(config, overrides)
    source = _workload(configuration, workload)
    for path in (output, dot):
        if path and path.exists() and os.path.exists(source) and path.samefile(source):
            raise WorkloadError(f"{path}: is the workload itself: must be another file")
    frontend: Frontend = configuration.target.part("runtime")
    compiling = Compiling(configuration, stages=ConsoleStages(_stderr()))
    options = target_options(configuration, no_reassociate, schedules=schedules)
    program = compiling.compile(frontend.source(source, {}), seed=seed, **options)
    drawn = frontend.dot(program) if dot is not None else ""
    if output is not None:
        program.save(output)
    if dot is not None:
        write_text(dot, drawn)


@main.command()
@click.argument("program", type=input_file)
def disasm(program: Path) -> None:
    """Print the instructions of a program file, or its CUDA source.

    Example: gnarl disasm circuit.npz
    """
    from sw.program.program import Program

    loaded = Program.load(program)
    for line in TARGETS[loaded.target].part("runtime").listing(loaded):
        click.echo(line)


@main.command()
@configuration_argument
@click.argument("workload", required=False, metavar="[WORKLOAD|PROGRAM]")
@tensors_option
@overrides_option
@click.option(
    "--backend",
    type=click.Choice(list(dict.fromkeys(name for t in TARGETS.values() for name in t.backends))),
    help="Simulated RTL or the interpreter of its instructions, by default RTL; for cuda a GPU or "
    "its emulation on the CPU, by default a GPU if there is one.",
)
@click.option(
    "--values",
    type=input_file,
    help="New input values: JSON of names and numbers, or a workload of the same structure; for "
    "cuda an .npz file of FEATURE.indices, .offsets, .weights and .table.",
)
@seed_option
@no_reassociate_option
@schedules_option
@click.option(
    "--batch",
    type=click.IntRange(1, MAXIMUM_BATCH),
    help="Samples to look up, by default 64 (cuda).",
)
@click.option(
    "--mapping",
    type=click.Choice(MAPPINGS),
    help="How blocks of the grid are given to features, by default contiguous (cuda).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the page.")
@output_option("--waves", help="Write the RTL's signals to this file, in FST format.")
@output_option(
    "--timeline",
    help="Draw what the machine does, cycle by cycle (cuda: block by block), to this PNG file.",
)
def run(
    config: str,
    workload: str | None,
    tensors: dict[str, str],
    overrides: tuple[str, ...],
    backend: str | None,
    values: Path | None,
    seed: int,
    no_reassociate: bool,
    schedules: Path | None,
    batch: int | None,
    mapping: str | None,
    as_json: bool,
    waves: Path | None,
    timeline: Path | None,
) -> int:
    """Run a workload, or a program file with --values, and compare with the golden model.

    WORKLOAD is a file; for sam, an expression or a .gv graph, with a --tensor for each of its
    operands; for cuda, a model: a folder of table_config.txt and data_config.txt, or a .py file. It
    may be left out where CONFIG names one.

    Example: gnarl run dpu_d3_b64 circuit.psdd --timeline circuit.png

    Example: gnarl run sam_fp32 "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss -f=c:s" --tensor B=b.mtx
    --tensor c=c.tns

    Example: gnarl run cuda_sm90 examples/embedding_model.py --batch 256
    """
    configuration = load_configuration(config, overrides)
    target = configuration.target
    if backend is not None and backend not in target.backends:
        raise click.UsageError(
            f"--backend {backend}: target {target.name} runs on {' or '.join(target.backends)}."
        )
    if waves and (backend or target.backends[0]) != "rtl":
        raise click.UsageError(
            f"--waves shows the RTL: not for --backend {backend or target.backends[0]}."
        )
    report = target.part("run")(
        configuration,
        _workload(configuration, workload),
        backend=backend,
        values=values,
        tensors=tensors,
        seed=seed,
        options=target_options(
            configuration, no_reassociate, schedules=schedules, batch=batch, mapping=mapping
        ),
        waves=waves,
        timeline=timeline,
        stages=ConsoleStages(_stderr()),
    )
    if as_json:
        click.echo(json.dumps(report.to_json(), allow_nan=False))
    else:
        report.print(Console())
    return 0 if report.matches else DIFFERENT


@main.command()
@configuration_argument
@click.argument("model")
@output_option("-o", "--output", required=True, help="The schedules' file to write.")
@overrides_option
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default=STRATEGIES[0],
    show_default=True,
    help="Measure candidates side by side under interference, then whole kernels; each alone; or "
    "trust the cost model.",
)
@click.option(
    "--batches",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Historical batches to tune on.",
)
@click.option(
    "--candidates",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Schedules of each feature to measure: the best by the cost model.",
)
@seed_option
def tune(
    config: str,
    model: str,
    output: Path,
    overrides: tuple[str, ...],
    strategy: str,
    batches: int,
    candidates: int,
    seed: int,
) -> None:
    """Find a schedule for each feature of MODEL, for `gnarl run --schedules` (cuda).

    Measures on all GPUs; where there is none, the cost model's choice is written, and the file says
    so. Interrupted, it goes on where it was when called again.

    Example: gnarl tune cuda_sm90 examples/embedding_model.py -o schedules.json
    """
    configuration = load_configuration(config, overrides)
    if not configuration.target.tune:
        raise click.UsageError(f"{config}: target {configuration.target.name} has no schedules.")
    found = configuration.target.part("tune")(
        configuration,
        model,
        output,
        strategy=strategy,
        batches=batches,
        candidates=candidates,
        seed=seed,
        stages=ConsoleStages(_stderr()),
    )
    click.echo(f"{output}: {found}")


@main.command()
@click.option(
    "--config",
    "names",
    multiple=True,
    default=["dpu_d3_b64", "sam_fp32", "cuda_sm90"],
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
    configurations = [load_configuration(name) for name in names]
    folder.mkdir(parents=True, exist_ok=True)
    status = 0
    for configuration in configurations:
        frontend: Frontend = configuration.target.part("runtime")
        for example in frontend.examples(folder):
            picture = folder / f"{example.name}.png"
            report = configuration.target.part("run")(
                configuration,
                example.source,
                tensors=example.tensors,
                timeline=picture,
                stages=ConsoleStages(_stderr()),
            )
            report.print(Console())
            click.echo(f"timeline: {picture}\n")
            status = max(status, 0 if report.matches else DIFFERENT)
    return status


def _workload(configuration: NamedConfiguration, given: str | None) -> str:
    """The workload on the command line, or else the one that the configuration names."""
    field = configuration.target.own_workload
    own = getattr(configuration.config, field) if field else ""
    if given is None and not own:
        raise click.UsageError(f"Missing argument 'WORKLOAD': {configuration.name} names none.")
    return own if given is None else given


def _hardware(config: str, overrides: tuple[str, ...], given: str | None) -> NamedConfiguration:
    """The configuration of the hardware, for a workload if one is named on the command line."""
    configuration = load_configuration(config, overrides)
    if not configuration.target.build:
        raise click.UsageError(f"{config}: target {configuration.target.name} has no Verilog.")
    if given is None:
        return configuration
    if not configuration.target.filled_in:
        raise click.UsageError(
            f"Unexpected argument {given!r}: target {configuration.target.name} has one hardware "
            "for all workloads."
        )
    from sw.runtime.device import Device

    frontend: Frontend = configuration.target.part("runtime")
    device = Device(configuration, backend="model")
    return device.hardware(device.compile(frontend.source(given, {})))


def _stderr() -> Console:
    return Console(stderr=True)
